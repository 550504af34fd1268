// Package transform makes the releases of a source tree, in memory: Open finds its
// configuration and detects the rest (layouts/detect); Build turns the plan
// (layouts/config) into files, each step a function over objects or text. Resolve takes
// a folder that may be a source tree or hold finished releases.
//
// It must not know where releases are published, nor rules of lint: it refuses only
// what cannot become a release. It prints nothing; what a person may want to know goes
// to Options.Note.
package transform
