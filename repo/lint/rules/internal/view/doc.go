// Package view reads from files, objects and schemas what rules of more than one
// subject ask for. It must not report under an ID or know any rule.
package view
