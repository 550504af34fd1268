// Package publish defines what a destination of releases can do, whether it
// is a folder, a GitHub repository, a GitLab project or an OCI registry: list,
// fetch, put and verify. Each kind has a package of its own below this one.
//
// It must not know how a release was made (transform) or whether it is any
// good (lint).
package publish
