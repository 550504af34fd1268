// Package diff tells what changes for users between two releases of a provider:
// the APIs and their fields, contracts, variables, images, rights, objects,
// templates and classes, each with what it means for an upgrade.
//
// It must not know where releases come from, and it judges no release alone;
// lint does.
package diff
