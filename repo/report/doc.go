// Package report prints results, as text for people and in formats for
// machines: findings, variables, images, differences, migrations, plans of
// moves, surveys, contracts and hooks.
//
// It must not compute anything; what it prints is given.
package report
