// Package sourcetree makes releases of the source tree of providers, in memory:
// it finds the configuration, detects what that leaves open (layouts/detect),
// and builds (transform). Resolve takes a folder that may be a source tree or
// hold finished releases.
//
// It must not know rules, nor where releases go. It prints nothing; what a
// person may want to know goes to Options.Note.
package sourcetree
