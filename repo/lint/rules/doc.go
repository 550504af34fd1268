// Package rules is the catalogue of all rules: those that lint.Run applies, from
// the packages below, and those about running programs. A rule is one row of
// data directly above its check; its example is in the package examples.
//
// Everything that the real clusterctl refuses is an error of some rule here.
//
// It must not know how anything is checked, read or printed.
package rules
