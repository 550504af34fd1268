// Package lint runs rules over the releases of a repository and collects their
// findings: sorted, without duplicates, each with a place in a file. It gives
// rules a parsed view of every file, made once and shared.
//
// It must not know any rule (repo/lint/rules) nor how findings are printed
// (repo/report), and it reads only what the model gives it.
package lint
