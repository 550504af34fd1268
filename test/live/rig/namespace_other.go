//go:build !linux

package rig

import "errors"

var errLinux = errors.New("the tests with real controllers need the network namespaces of Linux")

// Inside returns "": there is no namespace.
func Inside() string { return "" }

// Enter returns an error.
func Enter(string) (int, error) { return 1, errLinux }

// Loopback returns an error.
func Loopback() error { return errLinux }
