// Package gitlab is a server that speaks GitLab's REST protocol for generic
// packages and their files, in memory and on the loopback interface. It
// answers as GitLab does where clients stumble: duplicates of which the last one
// wins, hidden packages that can still be read, tokens that open one door and not
// the other, downloads from another host.
//
// Every host name is the same GitLab, except those that begin with "objects.",
// which are its storage. What is broken on purpose comes from package fault.
//
// The source of the behaviour is GitLab's own: the request specification of the
// generic packages API and its implementation.
//
// It must not know any client.
package gitlab
