// Package migration compares migrated manifests with what Cluster API's conversion
// functions make of the originals. It only has tests. It must not know how manifests are edited.
package migration
