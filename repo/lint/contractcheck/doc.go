// Package contractcheck judges CustomResourceDefinitions by the contracts of Cluster
// API, without a release around them: for the command contract check.
//
// It must not know where the definitions come from, nor printing.
package contractcheck
