// Package sign signs the checksum file of a release and verifies releases so
// signed, offline, with keys that cosign and openssl use as well.
//
// A signature covers SHA256SUMS, and that covers the provider, the version and
// every other file. So only two files of a signed release are in no list:
// SHA256SUMS itself, and its signature.
//
// It must not know where keys come from, nor what the files say. Nothing that it
// returns or prints holds a private key.
package sign
