// Package record reads and writes recordings of a management cluster: one JSON object
// a line, in the order of their times. A line is an event of a watch (ADDED, MODIFIED,
// DELETED), something that a driver did (ACTION), or a remark of the watcher
// (RECORDING, RESOURCE, DENIED). It finds what a version of an object states, whatever
// contract it follows.
//
// It must not know what controllers should do.
package record
