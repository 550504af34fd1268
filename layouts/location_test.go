package layouts

import (
	"errors"
	"strings"
	"testing"
)

var foo = Provider{Infrastructure, "foo"}

const (
	onlyHubAndLab = `invalid provider url. Only GitHub and GitLab are supported for "https" schema`
	gitHubForm    = "invalid url: a GitHub repository url should be in the form https://github.com/{owner}/{Repository}/releases/{latest|version-tag}/{componentsClient.yaml}"
	gitLabForm    = "invalid url: a GitLab repository url should be in the form https://{host}/api/v4/projects/{projectSlug}/packages/generic/{packageName}/{defaultVersion}/{componentsPath}"
	semantic      = `. Version must obey the syntax and semantics of the "Semantic Versioning" specification (http://semver.org/) and path format {basepath}/{provider-name}/{version}/{components.yaml}`
)

func TestParseProviderURL(t *testing.T) {
	tests := []struct {
		url string
		// want is the place, or message the refusal.
		want    Location
		message string
	}{
		{url: "https://github.com/o/r/releases/latest/c.yaml", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "latest", File: "c.yaml"}},
		{url: "https://github.com/o/r/releases/v1.0.0/a/b/c.yaml?x=1#y", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "v1.0.0", Root: "a/b", File: "c.yaml"}},
		{url: "https://github.com/o/r/releases/not-semver/c.yaml", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "not-semver", File: "c.yaml"}},
		{url: "https://github.com/o/r/releases/download/v1.0.0/c.yaml", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "download", Root: "v1.0.0", File: "c.yaml"}},
		{url: "https://github.com/o/r/releases/v1.0.0", message: gitHubForm},
		{url: "https://github.com/o/r/tree/v1.0.0/c.yaml", message: gitHubForm},
		{url: "https://GitHub.com/o/r/releases/latest/c.yaml", message: onlyHubAndLab},
		{url: "https://www.github.com/o/r/releases/latest/c.yaml", message: onlyHubAndLab},
		{url: "https://github.com:443/o/r/releases/latest/c.yaml", message: onlyHubAndLab},
		{url: "https://git.example.com/o/r/releases/latest/c.yaml", message: onlyHubAndLab},

		{url: "https://gitlab.example.com:8443/api/v4/projects/g%2Fp/packages/generic/pkg/v1.0.0/c.yaml", want: Location{Kind: GitLab, Host: "gitlab.example.com:8443", Project: "g%2Fp", Package: "pkg", Version: "v1.0.0", File: "c.yaml"}},
		{url: "https://gitlab.example.com/api/v4/projects/42/packages/generic/pkg/latest/c.yaml", want: Location{Kind: GitLab, Host: "gitlab.example.com", Project: "42", Package: "pkg", Version: "latest", File: "c.yaml"}},
		{url: "https://gitlab.example.com/api/v4/projects/g/p/packages/generic/pkg/v1.0.0/c.yaml", message: gitLabForm},
		{url: "https://gitlab.example.com/api/v4/projects/42/packages/npm/pkg/v1.0.0/c.yaml", message: gitLabForm},
		{url: "https://gitlab.example.com/api/v4/projects/42/packages/generic/pkg/v1.0.0/c.yaml/", message: gitLabForm},
		{url: "https://gitlab.example.com/sub/api/v4/projects/42/packages/generic/pkg/v1.0.0/c.yaml", message: onlyHubAndLab},

		{url: "file:///r/infrastructure-foo/v1.0.0/c.yaml", want: Location{Base: "/r", Label: "infrastructure-foo", Version: "v1.0.0", File: "c.yaml"}},
		{url: "/r//x/infrastructure-foo/1.0.0-rc.1+b/c.yaml", want: Location{Base: "/r/x", Label: "infrastructure-foo", Version: "1.0.0-rc.1+b", File: "c.yaml"}},
		{url: "FILE://localhost/a%20b/infrastructure-foo/latest/c.yaml?x=1#y", want: Location{Base: "/a b", Label: "infrastructure-foo", Version: "latest", File: "c.yaml"}},
		{url: "/infrastructure-foo/latest/c.yaml", want: Location{Base: "/", Label: "infrastructure-foo", Version: "latest", File: "c.yaml"}},
		{url: "r/infrastructure-foo/v1.0.0/c.yaml", message: `invalid path: path "r/infrastructure-foo/v1.0.0/c.yaml" must be an absolute path`},
		{url: "~/infrastructure-foo/v1.0.0/c.yaml", message: `invalid path: path "~/infrastructure-foo/v1.0.0/c.yaml" must be an absolute path`},
		{url: "file:///c.yaml", message: "invalid path: path should be in the form {basepath}/{provider-name}/{version}/{components.yaml}"},
		{url: "file:///r/infrastructure-foo/v1.0/c.yaml", message: `invalid version: "v1.0"` + semantic},
		{url: "file:///r/infrastructure-foo/V1.0.0/c.yaml", message: `invalid version: "V1.0.0"` + semantic},
		{url: "file:///r/infrastructure-foo/v1.0.0-rc.01/c.yaml", message: `invalid version: "v1.0.0-rc.01"` + semantic},
		{url: "file:///r/foo/v1.0.0/c.yaml", message: `invalid path: path "file:///r/foo/v1.0.0/c.yaml" must contain provider "infrastructure-foo" in the format {basepath}/{provider-label}/{version}/{components.yaml}`},

		{url: "http://github.com/o/r/releases/latest/c.yaml", message: `invalid provider url. there are no provider implementation for "http" schema`},
		{url: "oci://example.com/r:v1", message: `invalid provider url. there are no provider implementation for "oci" schema`},
		{url: "https://a b/", message: `error parsing provider URL: parse "https://a b/": invalid character " " in host name`},
	}
	for _, tt := range tests {
		got, err := ParseProviderURL(tt.url, foo)
		if tt.message != "" {
			var refused *URLError
			if !errors.As(err, &refused) || refused.Message != tt.message {
				t.Errorf("%s:\n got %v\nwant %s", tt.url, err, tt.message)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", tt.url, got, err, tt.want)
		}
	}
}

func TestParseURL(t *testing.T) {
	tests := []struct {
		url     string
		want    Location
		message string // a part of it
	}{
		{url: "file:///r/anything/v1.0.0/c.yaml", want: Location{Base: "/r", Label: "anything", Version: "v1.0.0", File: "c.yaml"}},
		{url: "https://github.com/o/r/releases/v1/c.yaml", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "v1", File: "c.yaml"}},
		{url: "https://github.com/o/r/releases/download/v1.0.0/c.yaml", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "v1.0.0", File: "c.yaml"}},
		{url: "https://github.com/o/r/releases/latest/download/cluster-template.yaml", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "latest"}},
		{url: "https://github.com/o/r", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "latest"}},
		{url: "https://github.com/o/r.git", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "latest"}},
		{url: "https://github.com/o/r/releases/?page=2", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "latest"}},
		{url: "https://github.com/o/r/releases/latest", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "latest"}},
		{url: "https://github.com/o/r/releases/tag/exp/v1.2.3#assets", want: Location{Kind: GitHub, Owner: "o", Repository: "r", Version: "exp/v1.2.3"}},
		{url: "https://github.com/o/r/blob/main/c.yaml", message: "invalid url"},
		{url: "https://github.com/o", message: "invalid url"},
		{url: "oci://registry.example.org:5000/a/b-c:v1.0.0", want: Location{Kind: OCI, Host: "registry.example.org:5000", Repository: "a/b-c", Version: "v1.0.0"}},
		{url: "oci://[::1]:5000/a", want: Location{Kind: OCI, Host: "[::1]:5000", Repository: "a"}},
		{url: "oci://h/a@sha256:" + strings.Repeat("ab", 32), want: Location{Kind: OCI, Host: "h", Repository: "a", Version: "sha256:" + strings.Repeat("ab", 32)}},
		{url: "oci://h/a:v1@sha256:" + strings.Repeat("ab", 32), want: Location{Kind: OCI, Host: "h", Repository: "a", Version: "sha256:" + strings.Repeat("ab", 32)}},
		{url: "oci://h/a@sha256:abc", message: "not a digest"},
		{url: "oci://h/a@", message: "not a digest"},
		{url: "oci:///a:v1", message: "not a registry host"},
		{url: "oci://h", message: "not a repository name"},
		{url: "oci://h/A:v1", message: "not a repository name"},
		{url: "oci://h/../a:v1", message: "not a repository name"},
		{url: "oci://h/a:", message: "not a tag"},
		{url: "oci://h/a:v1.0.0+b", message: "not a tag"},
		{url: "oci://user:secret@h/a:v1", message: "not a registry host"},
		{url: "s3://bucket/x", message: "no provider implementation"},
		{url: "http://lab.local/api/v4/projects/1/packages/generic/p/v1/c.yaml", want: Location{
			Kind: GitLab, Host: "lab.local", Server: "http://lab.local", Project: "1", Package: "p", Version: "v1", File: "c.yaml"}},
		{url: "http://other.local/api/v4/projects/1/packages/generic/p/v1/c.yaml", message: "no provider implementation"},
	}
	for _, tt := range tests {
		got, err := ParseURL(tt.url, Servers{GitLab: "http://lab.local"})
		if tt.message != "" {
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("%s: got %v, want %s", tt.url, err, tt.message)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", tt.url, got, err, tt.want)
		}
	}
}

// FuzzLocation checks that a sound URL survives being taken apart and put
// together.
func FuzzLocation(f *testing.F) {
	for _, s := range []string{
		"https://github.com/o/r/releases/v1.0.0/c.yaml", "https://gitlab.x/api/v4/projects/g%2Fp/packages/generic/p/v1/c.yaml",
		"file:///a%20b/infrastructure-foo/v1.0.0/c.yaml", "/infrastructure-foo/latest/c.yaml", "oci://h:1/a/b:v1", "oci://h/a", "https://github.com/%2e/../releases//",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		first, err := ParseURL(raw, Servers{})
		if err != nil || first.File == "" && first.Kind != OCI {
			return
		}
		again, err := ParseURL(first.URL(), Servers{})
		if err != nil || again != first {
			t.Errorf("%q\n gives %+v,\n %q\n gives %+v, %v", raw, first, first.URL(), again, err)
		}
	})
}

// What kustomize would fetch, however it is written.
func TestIsRemoteBase(t *testing.T) {
	for target, want := range map[string]bool{
		"https://host.test/a.yaml": true, "HTTPS://host.test/a.yaml": true, "GitHub.com/acme/foo": true,
		"git@host.test:acme/foo": true, "me@host.test/acme/foo": true, "../base?ref=v1": true,
		"../base": false, "github.com": false, "http": false, "me@here": false,
	} {
		if got := IsRemoteBase(target); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}

func TestEmbeddedProviders(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range EmbeddedProviders {
		l, err := ParseProviderURL(e.URL(), e.Provider)
		if err != nil || l.Kind != GitHub || l.Version != Latest || l.Owner+"/"+l.Repository != e.Repository {
			t.Errorf("%s: %+v, %v", e, l, err)
		}
		if problems := e.Problems(); problems != nil || KindOfFile(l.File) != Components || seen[e.Label()] {
			t.Errorf("%s: %v, %s", e, problems, l.File)
		}
		seen[e.Label()] = true
	}
	if e, ok := EmbeddedProvider(Provider{Infrastructure, "docker"}); !ok || e.URL() != "https://github.com/kubernetes-sigs/cluster-api/releases/latest/infrastructure-components-development.yaml" {
		t.Errorf("docker: %+v", e)
	}
	if _, ok := EmbeddedProvider(foo); ok {
		t.Error("foo is embedded")
	}
}

func TestOverrides(t *testing.T) {
	if got, want := OverridePath(foo, "v1.0.0", "c.yaml"), "infrastructure-foo/v1.0.0/c.yaml"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := strings.Join(OverrideFolders("/x", "/h"), " ")
	if want := "/x/cluster-api/overrides /h/.cluster-api/overrides"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := GitLabProject("group/sub/project"); got != "group%2Fsub%2Fproject" {
		t.Error(got)
	}
}
