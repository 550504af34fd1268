// Package cel judges the rules in x-kubernetes-validations as the API server does
// when a CustomResourceDefinition is created, and as Cluster API does for the
// variables of a ClusterClass: types, costs, messages, field paths. It also tells
// which values break a rule.
//
// It uses cel-go, and the types of k8s.io/apiserver/pkg/cel. The environment of the
// API server itself (k8s.io/apiserver/pkg/cel/environment) would add 40 MB to the
// program and 5 ms to each start, because it brings metrics and feature gates along,
// and its functions alone (pkg/cel/library) 8 MB and 6 ms; the functions of Kubernetes
// are therefore declared here as a table, which
// test/oracle compares with the original. cel-go alone costs about 0.6 ms at the
// start, in package variables that cannot be postponed.
//
// It must not know rules of lint, nor what the schemas are for.
package cel
