// Package oracle compares the tool with the real clusterctl. It only has tests;
// the module is apart so that clusterctl's dependencies stay out of the tool.
//
// It must not know how anything is implemented.
package oracle
