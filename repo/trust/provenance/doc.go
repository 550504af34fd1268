// Package provenance says where a release comes from: an in-toto statement with
// a SLSA provenance predicate, in a file next to the others, that names every
// file with its checksum, and what they were made from.
//
// It must not know keys and signatures (repo/trust/sign), nor how a release is made.
package provenance
