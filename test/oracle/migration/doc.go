// Package migration compares migrated manifests with what Cluster API's conversion
// functions make of the originals. It only has tests.
package migration
