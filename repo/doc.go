// Package repo is the model of a provider repository: providers, their
// releases and the files of a release. The parts that look inside the files
// are its sub-packages: documents with positions (doc), variables (vars),
// metadata (meta), the lint engine and its rules.
//
// It must not know where releases come from or go to (publish), nor how they
// are made (transform). Nothing here prints, reads the environment or uses the
// network.
package repo
