// Package open opens the places that URLs name: a DEST to publish to, and the
// place of a TARGET to read from. It decides which server gets to see which
// credential of the environment, which the caller passes in as a function.
//
// It must not know what is done with the places.
package open
