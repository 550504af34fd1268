// Package declare completes what a source tree says about a contract besides its
// templates: it adds the labels that are safe to add, and reports what is left.
//
// It must not know how anything is printed, and it writes no files.
package declare
