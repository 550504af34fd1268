// Package objectmeta holds what the API server has against names, labels and annotations.
//
// It must not know rules, the kinds of Cluster API.
package objectmeta
