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
	if got, err := c.Providers(); err != nil || len(got) != 1 || got[0].URL != "https://y" {
		t.Errorf("%v, %v", got, err)
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
