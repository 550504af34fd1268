// Package gitlab publishes to and reads from the generic package registry of a
// GitLab project, where clusterctl and people find releases by URL.
//
// GitLab has no drafts: even the files of a hidden
// package can be read by their URL. So the order makes a release appear at once.
// The components file, which clusterctl opens first, is uploaded last, after
// everything else was checked. Until then readers get a clean "not found".
//
// A file that is uploaded twice is there twice, and readers get the last one. So
// nothing is uploaded again before the package was looked at.
//
// The library that it speaks to GitLab with stays inside.
//
// The package must not know how a release was made.
package gitlab
