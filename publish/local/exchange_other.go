//go:build !(darwin || linux)

package local

import "errors"

// exchange is missing here, so that a version is away for a moment while another
// content takes its place.
func exchange(int, string, int, string) error { return errors.ErrUnsupported }
