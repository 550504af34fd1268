//go:build !linux

package memory

// reservePages does nothing where programs cannot ask for large pages.
func reservePages() (stop func()) { return func() {} }
