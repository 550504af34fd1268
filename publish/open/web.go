package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// WebOptions say how files are fetched.
type WebOptions struct {
	// Client is one that transport.New made.
	Client *http.Client
	// Proxy returns the value of GOPROXY, which says where Go modules come from. It
	// is asked when a marker has to be resolved.
	Proxy func(context.Context) (string, error)
	// Get and Put keep what was fetched, by a key; Get returns only what Put got.
	Get func(key string) ([]byte, bool)
	Put func(key string, data []byte)
	// Offline asks no server.
	Offline bool
}

// Web fetches what a local repository takes from releases elsewhere: single files by
// URL, and the newest version of a series of a Go module, as a GOPROXY lists it. Files
// are fetched once and kept. It is safe for concurrent use.
type Web struct {
	opts WebOptions

	mu    sync.Mutex
	lists map[string]func() ([]string, error) // by module
	found map[string]func() (bool, error)     // by URL
}

func NewWeb(o WebOptions) *Web {
	return &Web{opts: o, lists: map[string]func() ([]string, error){}, found: map[string]func() (bool, error){}}
}

// Components returns the file at a URL. One that names the version cannot change, so
// it is fetched only once.
func (w *Web) Components(ctx context.Context, _ layouts.Provider, version, at string) ([]byte, error) {
	key := "url " + at
	if data, ok := w.opts.Get(key); ok && (w.opts.Offline || strings.Contains(at, version)) {
		return data, nil
	}
	if w.opts.Offline {
		return nil, fmt.Errorf("failed to get %s: --offline is set, and no earlier run has fetched the file (%w)", at, layouts.ErrUnavailable)
	}
	data, err := w.get(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("failed to get %s: %w", at, err)
	}
	if what := repo.Unfit(data); what != "" {
		return nil, fmt.Errorf("failed to get %s: the server answers with %s instead of YAML", at, what)
	}
	w.opts.Put(key, data)
	return data, nil
}

func (w *Web) get(ctx context.Context, at string) ([]byte, error) {
	body, err := transport.Download(ctx, w.opts.Client, at, nil, -1)
	var data []byte
	if err == nil {
		defer body.Close()
		data, err = files.ReadAll(body, -1)
	}
	if err = transport.Clean(err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (%w)", err, layouts.ErrUnavailable)
	}
	return data, err
}

// Version returns the version that a marker stands for: the best one whose release
// has a metadata.yaml.
func (w *Web) Version(ctx context.Context, _ layouts.Provider, m layouts.Marker) (string, error) {
	key := fmt.Sprintf("marker %s %s %t", m.Module, m.Series, m.Pre)
	if w.opts.Offline {
		if data, ok := w.opts.Get(key); ok {
			return string(data), nil
		}
		return "", fmt.Errorf("--offline is set, and no earlier run has resolved the marker (%w)", layouts.ErrUnavailable)
	}
	versions, err := remembered(w, w.lists, m.Module, func() ([]string, error) { return w.list(ctx, m.Module) })
	if err != nil {
		return "", err
	}
	candidates := m.Candidates(versions)
	if len(candidates) == 0 {
		return "", fmt.Errorf("no suitable release available: %s has no version of the series %s", m.Module, m.Series)
	}
	for _, version := range candidates {
		at := m.Page(version)
		ok, err := remembered(w, w.found, at, func() (bool, error) {
			_, err := w.get(ctx, at)
			if errors.Is(err, fs.ErrNotExist) {
				return false, nil
			}
			return err == nil, err
		})
		switch {
		case err != nil:
			return "", err
		case ok:
			w.opts.Put(key, []byte(version))
			return version, nil
		}
	}
	return "", fmt.Errorf("failed to find releases tagged with a valid semantic version number: none of %s has the file %s", strings.Join(candidates, ", "), m.Page("VERSION"))
}

// remembered asks once for all who want to know.
func remembered[T any](w *Web, in map[string]func() (T, error), key string, ask func() (T, error)) (T, error) {
	w.mu.Lock()
	answer := in[key]
	if answer == nil {
		answer = sync.OnceValues(ask)
		in[key] = answer
	}
	w.mu.Unlock()
	return answer()
}

// maxMajor ends the search for major versions on a proxy that knows them all.
const maxMajor = 100

// list asks the proxy for the versions of a module, of each major version.
func (w *Web) list(ctx context.Context, module string) ([]string, error) {
	list, err := w.opts.Proxy(ctx)
	if err != nil {
		return nil, err
	}
	proxy, err := proxyOf(list)
	if err != nil {
		return nil, err
	}
	var out []string
	for major := 1; ; major++ {
		if major > maxMajor {
			return nil, fmt.Errorf("%s lists more than %d major versions of %s; it seems to answer every request", proxy.Host, maxMajor, module)
		}
		at := *proxy
		if at.Path = path.Join("/", module, "@v", "list"); major > 1 {
			at.Path = path.Join("/", module, fmt.Sprintf("v%d", major), "@v", "list")
		}
		data, err := w.get(ctx, at.String())
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("failed to get versions of %s: %w", module, err)
		}
		out = append(out, strings.Fields(string(data))...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no versions found for go module %q", module)
	}
	return out, nil
}

// proxyOf is the first proxy of a GOPROXY. Like the framework it keeps only its
// scheme and host.
func proxyOf(list string) (*url.URL, error) {
	for _, entry := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '|' }) {
		switch entry = strings.TrimSpace(entry); {
		case entry == "":
			continue
		case entry == "off" || entry == "direct":
			return nil, fmt.Errorf("releasemarker does not support disabling the go proxy: GOPROXY=%q", list)
		case !strings.Contains(entry, ":/") && strings.ContainsAny(entry, ".:/") && !path.IsAbs(entry):
			entry = "https://" + entry
		}
		u, err := url.Parse(entry)
		if err != nil || u.Host == "" || u.Scheme == "" {
			return nil, fmt.Errorf("releasemarker does not support the go proxy %q: write a URL", entry)
		}
		return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
	}
	return nil, errors.New("the source of Go modules is unknown; set GOPROXY to the URL of a module proxy")
}
