package open_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

func TestWeb(t *testing.T) {
	var requests atomic.Int32
	unfit := map[string]string{
		"/page.yaml": "\n<!DOCTYPE html><html>", "/mark.yaml": "\ufeff<html>", "/comment.yaml": "<!-- moved -->\n<html>",
		"/x.yaml": "<?xml version='1.0'?>", "/empty.yaml": " \n", "/packed.yaml": "\x1f\x8b\x08", "/zero.yaml": "a: \x00",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch p := r.URL.Path; {
		case unfit[p] != "":
			fmt.Fprint(w, unfit[p])
		case strings.HasPrefix(p, "/endless/"), p == "/m/@v/list":
			fmt.Fprint(w, "v1.2.0\nv1.2.1\n")
		case p == "/v1.2.0/c.yaml", p == "/main/c.yaml":
			fmt.Fprint(w, "kind: Namespace\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	var kept sync.Map
	web := func(offline bool, proxy string) *open.Web {
		return open.NewWeb(open.WebOptions{
			Client: transport.New(nil, transport.Policy{Attempts: 1}), Offline: offline,
			Proxy: func(context.Context) (string, error) { return proxy, nil },
			Get: func(key string) ([]byte, bool) {
				data, ok := kept.Load(key)
				text, _ := data.([]byte)
				return text, ok
			},
			Put: func(key string, data []byte) { kept.Store(key, data) },
		})
	}
	for _, tc := range []struct {
		file, version string
		offline       bool
		requests      int32
		want          string
	}{
		{"/v1.2.0/c.yaml", "v1.2.0", true, 0, "--offline is set"},
		{"/v1.2.0/c.yaml", "v1.2.0", false, 1, ""},
		{"/v1.2.0/c.yaml", "v1.2.0", false, 0, ""},
		{"/v1.2.0/c.yaml", "v1.2.0", true, 0, ""},
		{"/main/c.yaml", "v1.2.0", false, 1, ""},
		{"/main/c.yaml", "v1.2.0", false, 1, ""},
		{"/main/c.yaml", "v1.2.0", true, 0, ""},
		{"/page.yaml", "v1.2.0", false, 1, "an HTML or XML page"},
		{"/mark.yaml", "v1.2.0", false, 1, "an HTML or XML page"},
		{"/comment.yaml", "v1.2.0", false, 1, "an HTML or XML page"},
		{"/x.yaml", "v1.2.0", false, 1, "an HTML or XML page"},
		{"/empty.yaml", "v1.2.0", false, 1, "an empty file"},
		{"/packed.yaml", "v1.2.0", false, 1, "binary data"},
		{"/zero.yaml", "v1.2.0", false, 1, "binary data"},
		{"/gone.yaml", "v1.2.0", false, 1, "404"},
	} {
		before := requests.Load()
		_, err := web(tc.offline, "").Components(t.Context(), layouts.Provider{}, tc.version, server.URL+tc.file)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
		if n := requests.Load() - before; n != tc.requests {
			t.Errorf("%+v: %d requests", tc, n)
		}
	}
	for module, want := range map[string]string{"endless": "seems to answer every request", "absent": "no versions found", "m": "no suitable release"} {
		_, err := web(false, server.URL).Version(t.Context(), layouts.Provider{}, layouts.Marker{Module: module, Series: "9.9"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", module, err, want)
		}
	}
	if _, err := web(false, "").Version(t.Context(), layouts.Provider{}, layouts.Marker{Module: "m", Series: "1.2"}); err == nil || !strings.Contains(err.Error(), "set GOPROXY") {
		t.Error(err)
	}
	if _, err := web(false, "off").Version(t.Context(), layouts.Provider{}, layouts.Marker{Module: "m", Series: "1.2"}); err == nil || !strings.Contains(err.Error(), "disabling the go proxy") {
		t.Error(err)
	}
}
