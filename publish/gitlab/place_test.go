package gitlab

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestNew(t *testing.T) {
	ok := Options{ServerURL: "https://gitlab.example.com", Project: "g/p", Package: "x"}
	tests := []struct {
		name   string
		change func(*Options)
		want   string // part of the error; empty for none
	}{
		{"plain", func(*Options) {}, ""},
		{"port", func(o *Options) { o.ServerURL = "https://gitlab.example.com:8443/" }, ""},
		{"number", func(o *Options) { o.Project = "42" }, ""},
		{"sub-groups", func(o *Options) { o.Project = "a/b.c/d-e/f_g" }, ""},
		{"API elsewhere", func(o *Options) { o.APIURL = "https://internal/api/v4" }, ""},
		{"other host", func(o *Options) { o.ServerURL = "https://git.example.com" }, "clusterctl cannot read"},
		{"GitHub", func(o *Options) { o.ServerURL = "https://github.com" }, "clusterctl cannot read"},
		{"http", func(o *Options) { o.ServerURL = "http://gitlab.example.com" }, "clusterctl cannot read"},
		{"folder", func(o *Options) { o.ServerURL = "https://gitlab.example.com/gitlab" }, "not in a folder"},
		{"loopback allowed", func(o *Options) { o.ServerURL, o.AllowUnreadable = "http://127.0.0.1:80", true }, ""},
		{"no URL", func(o *Options) { o.ServerURL = "gitlab.example.com" }, "must have the form"},
		{"user in the URL", func(o *Options) { o.ServerURL = "https://oauth2:glpat-secret@gitlab.example.com" }, "pass a token separately"},
		{"token in the API URL", func(o *Options) { o.APIURL = "https://gitlab.example.com/api/v4?private_token=glpat-secret" }, "must have"},
		{"no project", func(o *Options) { o.Project = "" }, "not the path of a project"},
		{"only a group", func(o *Options) { o.Project = "g" }, "not the path of a project"},
		{"escaped", func(o *Options) { o.Project = "g%2Fp" }, "not the path of a project"},
		{"upwards", func(o *Options) { o.Project = "g/../p" }, "not the path of a project"},
		{"query", func(o *Options) { o.Project = "g/p?x" }, "not the path of a project"},
		{"slash", func(o *Options) { o.Project = "g/p/" }, "not the path of a project"},
		{"no package", func(o *Options) { o.Package = "" }, "not the name of a generic package"},
		{"package with a slash", func(o *Options) { o.Package = "a/b" }, "not the name of a generic package"},
		{"package upwards", func(o *Options) { o.Package = ".." }, "not the name of a generic package"},
	}
	for _, tt := range tests {
		o := ok
		tt.change(&o)
		_, err := New(o)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the token is in %v", tt.name, err)
		}
	}
}

// The URL is the one that clusterctl takes apart again.
func TestURL(t *testing.T) {
	for _, project := range []string{"g/p", "g/sub.group/p_q", "42"} {
		p, err := New(Options{ServerURL: "https://gitlab.example.com:8443", Project: project, Package: "infrastructure-foo"})
		given.NoError(t, err)
		for _, version := range []string{"v1.2.3", "1.0.0-rc.1+build.7"} {
			got, err := p.URL(version, gate)
			if err != nil {
				t.Error(err)
				continue
			}
			want := layouts.Location{Kind: layouts.GitLab, Host: "gitlab.example.com:8443", Project: layouts.GitLabProject(project), Package: "infrastructure-foo", Version: version, File: gate}
			l, err := layouts.ParseProviderURL(got, foo)
			if err != nil || l != want || got != want.URL() {
				t.Errorf("%s: %+v, %v", got, l, err)
			}
		}
		for _, bad := range []struct{ version, file string }{{layouts.Latest, gate}, {"1", gate}, {" v1.0.0", gate}, {"v1.0.0", "a/b"}, {"v1.0.0", ""}} {
			if got, err := p.URL(bad.version, bad.file); err == nil {
				t.Errorf("%v: %s", bad, got)
			}
		}
	}
}
