// Package report prints results: findings, variables and images, as text for
// people and in formats for machines.
//
// It must not compute anything; what it prints is given.
package report
