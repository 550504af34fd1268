// Package drive plays the user of a management cluster in a namespace that was made for
// it: it creates, pauses, pokes, strips, wipes, scales and deletes, and writes down each of
// its writes, so that none is blamed on a controller.
//
// It must not know what a controller does wrong.
package drive
