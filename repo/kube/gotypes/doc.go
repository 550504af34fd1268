// Package gotypes tells whether a document fits a type of Kubernetes or Cluster API:
// what the conversion to the Go type refuses, what it drops and which numbers it
// changes, each with the node to blame. It knows the objects that clusterctl
// converts, and only their types.
//
// The types are described in types.txt, which is made from the Go types by a
// test. So the validator has them without linking the packages that they
// come from, which bring a network stack and start-up time.
//
// The package must not know what the fields mean, and nothing of variables or
// rules: a value that is only a sample is judged like any other.
package gotypes
