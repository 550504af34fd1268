// Package conformance compares the fake servers, and what this project's program
// publishes to them, with things that others wrote: GitHub's OpenAPI
// description, recorded traffic, gh, python3-gitlab, a real registry, skopeo, the
// real clusterctl. It only has tests; the module is apart so that what they need
// stays out of the tool.
//
// A test that misses its counterpart is skipped and says what is missing, but fails
// with CONFORMANCE=complete. Install gets what Debian has.
//
// It must not know how publishing is implemented.
package conformance
