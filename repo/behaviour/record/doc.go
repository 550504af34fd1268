// Package record reads and writes recordings of a management cluster, and follows the
// objects in them. A recording has one JSON object a line, in the order of their times: an
// event of a watch (ADDED, MODIFIED, DELETED), something that a driver did (ACTION), or a
// remark of the watcher (RECORDING, RESOURCE, DENIED). Package record finds what a version
// of an object states, whatever contract it follows, and what the events until then tell
// about the objects: which exist, what they belong to, who wrote them, and since when they
// are paused.
//
// It must not know what controllers should do.
package record
