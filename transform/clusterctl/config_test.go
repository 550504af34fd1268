package clusterctl

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// The rules themselves are compared with the real clusterctl in test/oracle.

func env(pairs ...string) Env {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestFormats(t *testing.T) {
	for name, data := range map[string]string{
		"c.yaml": "github-token: x\n",
		"c.yml":  "GitHub-Token: x\n",
		"c.json": `{"github-token": "x"}`,
		"c.toml": "github-token = \"x\"\n",
	} {
		c, err := Read(name, []byte(data), env())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v, ok := c.Get("github-token"); v != "x" || !ok {
			t.Errorf("%s: %q %t", name, v, ok)
		}
	}
	for _, name := range []string{"clusterctl", "c.txt", "dir.yaml/clusterctl"} {
		if _, err := Read(name, []byte("a: b\n"), env()); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoFile(t *testing.T) {
	c := given.Value(Read("", nil, env("A_B", "", "OVERRIDESFOLDER", "${DIR}/x", "DIR", "/d")))(t)
	if v, ok := c.Get("a-b"); v != "" || !ok {
		t.Errorf("%q %t", v, ok)
	}
	if _, ok := c.Get("other"); ok {
		t.Error("other is set")
	}
	if list, err := c.Providers(); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if images, err := c.Images(); err != nil || len(images) != 0 {
		t.Error(images, err)
	}
	if dir, err := c.OverridesFolder(); err != nil || dir != "/d/x" {
		t.Error(dir, err)
	}
}

// TestLastCounts: of overrides of images the one for less, of providers the last.
func TestLastCounts(t *testing.T) {
	c, err := Read("c.yaml", []byte(`images: {all: {repository: all.io/a/, tag: v1}, infrastructure-foo: {repository: own.io}, infrastructure-foo/b: {tag: v2, name: c}}
providers: [{name: foo, type: InfrastructureProvider, url: https://x}, {name: foo, type: InfrastructureProvider, url: https://y}]
`), env())
	given.NoError(t, err)
	images := given.Value(c.Images())(t)
	for _, tc := range [][3]string{
		{"infrastructure-foo", "ghcr.io/x/b:v0", "own.io/c:v2"}, {"infrastructure-foo", "ghcr.io/x/d:v0", "own.io/d:v1"}, {"bootstrap-foo", "ghcr.io/x/b:v0", "all.io/a/b:v1"},
	} {
		if got, err := images.Apply(tc[0], tc[1]); got != tc[2] || err != nil {
			t.Errorf("%s of %s: %s, %v", tc[1], tc[0], got, err)
		}
	}
	digest := "ghcr.io/x/b:v0@sha256:" + strings.Repeat("0", 64)
	if got, err := (Images{"all": {Name: "c"}}).Apply("bootstrap-foo", digest); got != strings.Replace(digest, "b", "c", 1) || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := c.Providers(); err != nil || len(got) != 1 || got[0].URL != "https://y" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestBadProviders: one bad entry makes all unusable.
func TestBadProviders(t *testing.T) {
	for entry, want := range map[string]string{
		"{name: foo, type: InfrastructureProvider, url: 'https://x/${V}'}": "",
		"{name: cluster-api, type: CoreProvider, url: https://x}":          "",
		"{type: CoreProvider, url: https://x}":                             "with name . Please fix the providers value in clusterctl configuration file: name value cannot be empty",
		"{name: Foo, type: CoreProvider, url: https://x}":                  "provider name Foo must be in lower case",
		"{name: foo, type: CoreProvider, url: https://x}":                  "name cluster-api must be used with the CoreProvider type (name: foo, type: CoreProvider)",
		"{name: cluster-api, type: BootstrapProvider, url: https://x}":     "name cluster-api must be used with the CoreProvider type (name: cluster-api, type: BootstrapProvider)",
		"{name: a_b, type: BootstrapProvider, url: https://x}":             "invalid provider name: ",
		"{name: foo, type: BootstrapProvider}":                             "provider URL value cannot be empty",
		"{name: foo, type: BootstrapProvider, url: 'https://x:y'}":         "error parsing provider URL: ",
		"{name: foo, type: Other, url: https://x}":                         "invalid provider type. Allowed values are [CoreProvider, ",
		"{name: foo, type: BootstrapProvider, url: '${'}":                  "unable to evaluate url: \"${\": ",
		"x": "failed to unmarshal providers from the clusterctl configuration file: ",
	} {
		c := given.Value(Read("c.yaml", []byte("providers: ["+entry+"]\n"), env("V", "1")))(t)
		if list, err := c.Providers(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err == nil && len(list) != 1 {
			t.Errorf("%s: %v, %v", entry, list, err)
		}
	}
}

func TestOverridesFolder(t *testing.T) {
	for value, want := range map[string]string{"": "", "' '": "", "/a": "/a", "'${NONE}/a'": "/a", "'${NONE:=b}'": "b", "'${'": "!", "'${DIR:1:-1}'": "!"} {
		c := given.Value(Read("c.yaml", []byte("overridesFolder: "+value+"\n"), env("DIR", "/d")))(t)
		if dir, err := c.OverridesFolder(); dir != want && (want != "!" || err == nil) {
			t.Errorf("%s: %q %v", value, dir, err)
		}
	}
}

func TestCertManager(t *testing.T) {
	for text, want := range map[string]certManager{
		"":                                   {URL: certManagerURL, Version: CertManagerVersion},
		"cert-manager:\n  version: v1.0.0\n": {URL: certManagerURL, Version: "v1.0.0"},
		"cert-manager:\n  url: https://x/${V}/y\n":           {URL: "https://x/1/y", Version: CertManagerVersion},
		"cert-manager:\n  timeout: 1m\n  url: a\n":           {URL: "a", Version: CertManagerVersion},
		"Cert-Manager:\n  URL: a\n  Version: v1.2.3\n":       {URL: "a", Version: "v1.2.3"},
		"cert-manager:\n  url: file:///a/${W:=b}/latest/c\n": {URL: "file:///a/b/latest/c", Version: CertManagerVersion},
		"cert-manager:\n  externallyProvisioned: true\n":     {URL: certManagerURL, Version: CertManagerVersion, ExternallyProvisioned: "1"},
		"cert-manager:\n  externallyProvisioned: \"true\"\n": {URL: certManagerURL, Version: CertManagerVersion, ExternallyProvisioned: "true"},
	} {
		c := given.Value(Read("clusterctl.yaml", []byte(text), env("V", "1")))(t)
		if got, err := c.CertManager(); err != nil || got != want {
			t.Errorf("%q: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"cert-manager: x\n", "cert-manager:\n  url: ${\n", "cert-manager: [a]\n", "cert-manager:\n  externallyProvisioned: maybe\n"} {
		c := given.Value(Read("clusterctl.yaml", []byte(text), env()))(t)
		if got, err := c.CertManager(); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
