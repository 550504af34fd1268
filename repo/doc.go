// Package repo is the model of a provider repository: providers, their
// releases and the files of a release.
//
// # Where to begin
//
// The packages of this module follow the way that data takes:
//
//	source tree ──layouts──▶ plan ──transform──▶ release (repo) ──lint──▶ findings
//	                                                └──publish──▶ folder, GitHub, GitLab, OCI
//
// Most programs need one of these:
//
//   - transform/check lints a folder, finished releases or a source tree, and
//     fixes what it finds: Folder, Fix, Since;
//   - transform builds the releases of a source tree in memory: Open
//     and Tree.Build;
//   - repo/source/folder reads a repository from a disk, publish/open from a URL;
//   - publish/local writes releases to a folder; publish/open opens every other
//     destination;
//   - repo/lint runs rules, those of repo/lint/rules or one's own, over a
//     Repository from anywhere;
//   - repo/facts lists variables and images, and compares releases; repo/report
//     writes results as text, JSON, SARIF and more.
//
// The examples of this package show the first steps.
//
// This package must not know where releases come from or go to (publish), nor
// how they are made (transform). Nothing in the module prints, reads the
// environment or exits, but for the command line below cmd.
package repo
