// Package shape tells whether a document fits a Go type of the Kubernetes API,
// without making the value: what the conversion of apimachinery refuses, what it
// drops and which numbers it changes, each with the node to blame. It also knows
// the types: those that clusterctl converts objects to, and those that the API
// server decodes.
//
// It must not know what the fields mean, and nothing of variables or rules: a
// value that is only a sample is judged like any other.
package shape
