// Package yamldoc turns the text of a manifest into documents, and documents into
// values that know where they stand in the file. It splits files as clusterctl
// does, parses each document once, and resolves scalars with the YAML 1.1
// rules of sigs.k8s.io/yaml, because that is what clusterctl and the API
// server see.
//
// It is the only package that reads YAML with a parser. It must not know what
// the documents mean: no kinds, no variables, no rules.
package yamldoc
