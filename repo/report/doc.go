// Package report prints results, as text for people and in formats for
// machines: findings, rules, variables, images, differences, contracts and hooks.
//
// It must not compute anything; what it prints is given.
package report
