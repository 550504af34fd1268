// Package github publishes to and reads from the releases of a GitHub repository, on
// github.com or a GitHub Enterprise server. A release is put together as a draft, which
// readers do not see, checked there, and published with one request, with which GitHub
// also creates the tag.
//
// It must not know what the files mean, nor wait, repeat or authenticate by
// itself: that is for package transport. No other package knows go-github.
package github
