// Package fakes tests the servers on loopback in its folders, which have faults as data: all
// of them in one program, with clients that others wrote.
//
// It must not know the code of this project, whose tests rely on the fakes.
package fakes
