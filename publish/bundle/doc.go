// Package bundle carries a mirror over a gap as one tar file. The file is the
// same for the same mirror: SHA256SUMS comes first, with the checksum of
// everything else, then its signature if there is one, then all other files in
// the order of their paths. Unpacked with tar, it is the mirror again.
//
// A bundle is read without being unpacked, and no content is used that is not
// what SHA256SUMS says. It must not know what the files are for.
package bundle
