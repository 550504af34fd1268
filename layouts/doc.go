// Package layouts holds the conventions of clusterctl provider repositories:
// the provider types with their label prefixes, the names of the files in a
// release, the rules for provider names, labels and versions, and the shapes
// of the places that releases live in (local folder, GitHub, GitLab, OCI).
//
// It is the leaf of the tree: tables and pure functions over strings. It must
// not know what is inside the files, must not read a disk or a network, and
// imports no other package of this project.
package layouts
