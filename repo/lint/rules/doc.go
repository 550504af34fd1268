// Package rules is the catalogue of lint rules: one table per family, with what
// clusterctl, the API server or the contract does to whoever breaks the rule,
// and an example of each, bad and good. Whatever the real clusterctl refuses is
// an error of some rule here.
//
// The rules see files only through repo/lint. The package must not know where a
// repository came from, nor how findings are printed.
package rules
