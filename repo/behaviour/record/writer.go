package record

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
)

// Writer of recordings. It may be used by several goroutines.
type File struct {
	mu  sync.Mutex
	out io.Writer
	zip *gzip.Writer
	err error
}

// Create begins a recording; it is gzipped if the name ends in .gz. Close does not
// close out.
func Create(name string, out io.Writer) *File {
	f := &File{out: out}
	if strings.HasSuffix(name, ".gz") {
		f.zip = gzip.NewWriter(out)
		f.out = f.zip
	}
	return f
}

// line is what a recording holds of an event.
type line struct {
	At       string          `json:"at"`
	Type     string          `json:"type"`
	Initial  bool            `json:"initial,omitempty"`
	Object   json.RawMessage `json:"obj,omitempty"`
	Version  int             `json:"schemaVersion,omitempty"`
	Server   string          `json:"server,omitempty"`
	Resource string          `json:"resource,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Action   any             `json:"action,omitempty"`
}

const atFormat = "2006-01-02T15:04:05.000000Z"

// Event makes the line of an event. The object is JSON; values of Secrets must have
// been replaced.
func EventLine(at time.Time, kind string, initial bool, object []byte) []byte {
	return encode(line{At: at.UTC().Format(atFormat), Type: kind, Initial: initial, Object: object})
}

// HeaderLine begins a recording of a server, which is named by an ID.
func HeaderLine(at time.Time, server string) []byte {
	return encode(line{At: at.UTC().Format(atFormat), Type: Header, Version: 1, Server: server})
}

// ResourceLine names a resource that is watched, "devmachines.infrastructure.…".
func ResourceLine(at time.Time, resource string) []byte {
	return encode(line{At: at.UTC().Format(atFormat), Type: Resource, Resource: resource})
}

// DeniedLine names a resource that cannot be watched.
func DeniedLine(at time.Time, resource, reason string) []byte {
	return encode(line{At: at.UTC().Format(atFormat), Type: Denied, Resource: resource, Reason: reason})
}

// Act is something that a driver does to an object.
type Act struct {
	// Name of the action: pause, poke, wipe, …; see the actions of package behaviour.
	Name string `json:"name"`
	// APIVersion to Name say which object.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Object     string `json:"object,omitempty"`
	UID        string `json:"uid,omitempty"`
	// ResourceVersion is that of the object after the write; empty before it.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Server and Run name the server and the run, when it begins.
	Server string `json:"server,omitempty"`
	Run    string `json:"run,omitempty"`
}

// ActionLine records what a driver did.
func ActionLine(at time.Time, a Act) []byte {
	return encode(line{At: at.UTC().Format(atFormat), Type: Action, Action: a})
}

func encode(l line) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		// Only an object that is no JSON can fail; it is left out.
		l.Object = nil
		b.Reset()
		_ = e.Encode(l) // what is left are texts and times
	}
	return b.Bytes()
}

// Write adds a line.
func (f *File) Write(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		_, f.err = f.out.Write(line)
	}
	return f.err
}

// Flush makes what was written readable.
func (f *File) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.zip != nil && f.err == nil {
		f.err = f.zip.Flush()
	}
	return f.err
}

// Close ends the recording.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.zip != nil {
		return errors.Join(f.err, f.zip.Close())
	}
	return f.err
}
