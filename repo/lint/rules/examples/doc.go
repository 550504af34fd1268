// Package examples holds an example for every lint rule: a small repository that
// breaks the rule, the same one in order, and how the real thing proves it.
//
// It must not know any rule, so that tests of rules can use it.
package examples
