// Package oci publishes releases to a repository of an OCI registry, in the
// form that the Cluster API operator reads (fetchConfig.oci), and reads what
// the operator's plugin and oras wrote.
//
// A release is one image manifest with the empty config and the version as its
// tag. Every file is a layer that has the name of the file as its title. Where
// the operator looks for another name, the same blob gets a second layer with
// that name; these layers are marked, and no files of the release. Nothing in
// the manifest depends on the time, so that equal content has an equal digest.
//
// The proposal for Cluster API (cluster-api#13729) has the same repositories,
// tags and annotations, but packs all files of a release into one layer. No
// released operator reads that, so it is neither read nor written.
//
// Blobs are stored first, then the manifest under its digest, and last the tag,
// which makes the release visible as a whole. Container images of a mirror are
// copied by a Store.
//
// Of oras v2.6.4, CopyGraph copies images. Its auth.Client would replace about half of
// auth.go, but it refuses token servers in private networks, where those of companies
// are, without a switch, and hands the credential to any public server that a registry
// names. Its content/oci would replace about 80 of the 300 lines of layout.go, but it
// follows links that others plant in the folder, and does not wait for the disk.
//
// The package must not know how a release was made, whether it
// is any good, or what images are for.
package oci
