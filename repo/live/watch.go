package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
)

// WatchOptions say what to watch.
type WatchOptions struct {
	// Namespace to watch, empty for all. Leases are watched in all, because controllers
	// have them elsewhere.
	Namespace string
	// Events also watches Events.
	Events bool
}

// Watch watches until ctx is done, and hands over the lines of a recording. Only one line
// is handed over at a time. What must not be read becomes a line DENIED. The error is
// set if the server cannot be reached at the beginning; later it is tried again.
func (c *Cluster) Watch(ctx context.Context, o WatchOptions, sink func(line []byte)) error {
	return c.watch(ctx, o, usual, sink)
}

func (c *Cluster) watch(ctx context.Context, o WatchOptions, p pace, sink func(line []byte)) error {
	w := &watcher{Cluster: c, options: o, pace: p, watched: map[string]bool{}}
	var mu sync.Mutex
	w.sink = func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		sink(line)
	}
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	w.sink(record.HeaderLine(time.Now(), server))
	resources, err := w.discover(ctx)
	if err != nil {
		return err
	}
	for {
		for _, r := range resources {
			w.start(ctx, r)
		}
		select {
		case <-ctx.Done():
			w.running.Wait()
			return nil
		case <-time.After(p.again):
		}
		// CRDs may come while others are watched.
		if more, err := w.discover(ctx); err == nil {
			resources = more
		}
	}
}

// pace is how long the watcher waits before it looks for new resources, and at first and
// at most before it asks a server again that did not answer.
type pace struct{ again, pause, longest time.Duration }

var usual = pace{30 * time.Second, time.Second, 30 * time.Second}

type watcher struct {
	*Cluster
	options WatchOptions
	sink    func([]byte)
	pace    pace
	mu      sync.Mutex
	watched map[string]bool
	running sync.WaitGroup
}

// discover lists what is watched: the kinds of Cluster API, Secrets, Leases and Events.
func (w *watcher) discover(ctx context.Context) ([]resource, error) {
	out := []resource{secrets, leases}
	if w.options.Events {
		out = append(out, events)
	}
	// A group whose versions cannot be read is asked for again later.
	kinds, err := w.kinds(ctx)
	if len(kinds) > 0 {
		err = nil
	}
	return append(out, kinds...), err
}

func (w *watcher) start(ctx context.Context, r resource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched[r.String()] {
		return
	}
	w.watched[r.String()] = true
	s := &stream{watcher: w, resource: r, known: map[string]state{}}
	w.running.Go(func() {
		s.run(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watched, r.String())
	})
}

// stream follows one resource.
type stream struct {
	*watcher
	resource
	version string // of the last event
	known   map[string]state
	listed  bool
	holders map[string]string // of Leases
}

// state is what is needed to tell after a gap what changed.
type state struct{ version, namespace, name string }

// run follows the resource until ctx is done, or the server no longer has it in
// this version: another one is found when the watcher looks for resources again.
func (s *stream) run(ctx context.Context) {
	wait := s.pace.pause
	denied := false
	for ctx.Err() == nil {
		begin := time.Now()
		err := s.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			wait = s.pace.pause
			if time.Since(begin) >= s.pace.pause {
				continue // the server ends watches from time to time
			}
		case apierrors.IsNotFound(err):
			return
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsMethodNotSupported(err):
			if !denied {
				denied = true
				s.sink(record.DeniedLine(time.Now(), s.resource.String(), reason(err)))
			}
			wait = s.pace.longest
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			s.version = "" // list again
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if err != nil {
			wait = min(2*wait, s.pace.longest)
		}
	}
}

func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strconv.QuoteToASCII(line)
}

// follow lists if need be and watches until the server ends the watch.
func (s *stream) follow(ctx context.Context) error {
	if s.version == "" {
		if err := s.list(ctx); err != nil {
			return err
		}
	}
	request := s.request().Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", s.version)
	body, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	in := json.NewDecoder(bufio.NewReaderSize(body, 64<<10))
	for {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := in.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		switch e.Type {
		case record.Added, record.Modified, record.Deleted:
			s.object(e.Type, e.Object, false)
		case "BOOKMARK":
			var o metav1.PartialObjectMetadata
			if json.Unmarshal(e.Object, &o) == nil && o.ResourceVersion != "" {
				s.version = o.ResourceVersion
			}
		case "ERROR":
			var status metav1.Status
			if json.Unmarshal(e.Object, &status) == nil {
				return apierrors.FromObject(&status)
			}
			return errors.New("the watch ended with an error")
		}
	}
}

func (s *stream) request() *rest.Request {
	in := s.options.Namespace
	if s.resource == leases {
		in = ""
	}
	request := s.client.Get().AbsPath(s.path(in)).SetHeader("Accept", "application/json")
	if s.resource == leases {
		request = request.Param("fieldSelector", "metadata.namespace!=kube-node-lease")
	}
	return request
}

// list reads all objects, one by one, so that a large list needs no memory.
func (s *stream) list(ctx context.Context) error {
	request := s.request()
	if !s.listed {
		request = request.Param("resourceVersion", "0") // from the cache of the server
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	if !s.listed {
		s.sink(record.ResourceLine(time.Now(), s.resource.String()))
	}
	seen := map[string]bool{}
	version, err := items(json.NewDecoder(bufio.NewReaderSize(body, 64<<10)), func(raw json.RawMessage) {
		seen[s.object("", raw, true)] = true
	})
	if err != nil {
		return err
	}
	for uid, old := range s.known {
		if !seen[uid] {
			delete(s.known, uid)
			s.emit(record.Deleted, true, fmt.Appendf(nil,
				`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":%q}}`,
				s.apiVersion(), s.kind, old.name, old.namespace, uid, old.version))
		}
	}
	s.version, s.listed = version, true
	return nil
}

// items hands over the elements of a list and returns its resourceVersion.
func items(in *json.Decoder, each func(json.RawMessage)) (version string, err error) {
	if _, err := in.Token(); err != nil {
		return "", err
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return "", err
		}
		switch key {
		case "items":
			if t, err := in.Token(); err != nil {
				return "", err
			} else if t != json.Delim('[') {
				continue // null
			}
			for in.More() {
				var raw json.RawMessage
				if err := in.Decode(&raw); err != nil {
					return "", err
				}
				each(raw)
			}
			if _, err := in.Token(); err != nil {
				return "", err
			}
		case "metadata":
			var meta metav1.ListMeta
			if err := in.Decode(&meta); err != nil {
				return "", err
			}
			version = meta.ResourceVersion
		default:
			var skip json.RawMessage
			if err := in.Decode(&skip); err != nil {
				return "", err
			}
		}
	}
	if version == "" {
		return "", errors.New("the list has no resourceVersion")
	}
	return version, nil
}

// object hands over an object and returns its UID. Of a list only what changed counts.
func (s *stream) object(kind string, raw json.RawMessage, initial bool) string {
	var o metav1.PartialObjectMetadata
	if json.Unmarshal(raw, &o) != nil {
		return ""
	}
	uid := string(o.UID)
	old, known := s.known[uid]
	if initial {
		if known && old.version == o.ResourceVersion {
			return uid
		}
		kind = record.Added
		if known {
			kind = record.Modified
		}
	} else {
		s.version = o.ResourceVersion
	}
	if kind == record.Deleted {
		delete(s.known, uid)
	} else {
		s.known[uid] = state{o.ResourceVersion, o.Namespace, o.Name}
	}
	if s.resource == leases && !s.held(uid, raw, kind == record.Deleted) {
		return uid
	}
	if s.kind == "Secret" || o.APIVersion == "" {
		raw = s.complete(raw)
	}
	if raw != nil {
		s.emit(kind, initial, raw)
	}
	return uid
}

// held reports whether the holder of a Lease is another one than before.
func (s *stream) held(uid string, raw json.RawMessage, gone bool) bool {
	var lease struct {
		Spec struct {
			HolderIdentity string `json:"holderIdentity"`
		} `json:"spec"`
	}
	if json.Unmarshal(raw, &lease) != nil {
		return false
	}
	if s.holders == nil {
		s.holders = map[string]string{}
	}
	if gone {
		delete(s.holders, uid)
		return true
	}
	before, known := s.holders[uid]
	s.holders[uid] = lease.Spec.HolderIdentity
	return !known || before != lease.Spec.HolderIdentity
}

// complete sets apiVersion and kind, which elements of lists lack, and replaces the values
// of Secrets by their sizes.
func (s *stream) complete(raw json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	o["apiVersion"] = fmt.Appendf(nil, "%q", s.apiVersion())
	o["kind"] = fmt.Appendf(nil, "%q", s.kind)
	if s.kind == "Secret" {
		delete(o, "stringData")
		var data map[string]string
		if json.Unmarshal(o["data"], &data) == nil && len(data) > 0 {
			sizes := map[string]int{}
			for key, value := range data {
				sizes[key] = base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(value, "=")))
			}
			o["data"], _ = json.Marshal(sizes)
		} else {
			delete(o, "data")
		}
		o["metadata"] = withoutApplied(o["metadata"])
	}
	out, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	return out
}

// withoutApplied drops what kubectl applied last, which holds the values of Secrets.
func withoutApplied(raw json.RawMessage) json.RawMessage {
	var meta map[string]json.RawMessage
	var annotations map[string]json.RawMessage
	if json.Unmarshal(raw, &meta) != nil || json.Unmarshal(meta["annotations"], &annotations) != nil {
		return raw
	}
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	meta["annotations"], _ = json.Marshal(annotations)
	out, err := json.Marshal(meta)
	if err != nil {
		return nil
	}
	return out
}

func (s *stream) emit(kind string, initial bool, object []byte) {
	var flat bytes.Buffer
	if json.Compact(&flat, object) == nil {
		s.sink(record.EventLine(time.Now(), kind, initial, flat.Bytes()))
	}
}
