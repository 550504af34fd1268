package record

import (
	"strconv"
	"strings"
	"time"
)

// The types of lines.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	// Action is something that a driver did, or is about to do.
	Action = "ACTION"
	// Header begins a recording and names the server.
	Header = "RECORDING"
	// Resource names a resource that is watched.
	Resource = "RESOURCE"
	// Denied names a resource that must not be read.
	Denied = "DENIED"
)

// Event is one line of a recording.
type Event struct {
	// At is the time of its arrival by the clock of the watcher.
	At   time.Time
	Type string
	// Initial says that the object was there before the watch began, or when it began
	// again; versions between may be missing.
	Initial bool
	// Object is the object, without managedFields and without values of Secrets.
	Object Value
	// Writers are its managedFields.
	Writers []Writer
	// Note is the rest of the line for the types that have no object.
	Note Value
	// File and Line say where the event was read.
	File string
	Line int
}

// APIVersion of the object.
func (e *Event) APIVersion() string { return e.Object.Get("apiVersion").Str() }

// Group of the object.
func (e *Event) Group() string { return GroupOf(e.APIVersion()) }

// GroupOf returns the group in an apiVersion, empty for the core group.
func GroupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// Kind of the object.
func (e *Event) Kind() string { return e.Object.Get("kind").Str() }

// Version is the resourceVersion as a number, 0 if it is none.
func (e *Event) Version() uint64 {
	n, _ := strconv.ParseUint(e.Object.Get("metadata", "resourceVersion").Str(), 10, 64)
	return n
}

// Proof says where the version of the event was read.
func (e *Event) Proof() Proof {
	return Proof{e.Object.Get("metadata", "resourceVersion").Str(), e.At, e.File, e.Line}
}

// timeFormats are tried in this order; the second is that of clocks without a zone.
var timeFormats = [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"}

func parseTime(s string) (time.Time, bool) {
	for _, format := range timeFormats {
		if t, err := time.Parse(format, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
