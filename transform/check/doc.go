// Package check lints folders: finished releases as they are, source trees
// after building them in memory, with findings that point to the source. It
// leaves out what an earlier report or an earlier revision had, and applies the
// fixes of findings.
//
// It must not know rules by name, nor how findings are printed.
package check
