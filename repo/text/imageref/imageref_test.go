package imageref_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
)

func TestParse(t *testing.T) {
	sha256, sha384 := "sha256:"+strings.Repeat("a", 64), "sha384:"+strings.Repeat("a", 96)
	for s, want := range map[string]struct{ full, domain, path, tag, digest string }{
		"nginx":                            {"docker.io/library/nginx", "docker.io", "library/nginx", "", ""},
		"ghcr.io:443/a/b:v1.0.0@" + sha256: {"", "ghcr.io:443", "a/b", "v1.0.0", sha256},
		"localhost/a@" + sha384:            {"", "localhost", "a", "", sha384},
		"[fe80::1]/a":                      {"", "[fe80::1]", "a", "", ""},
		"a_b.c/d":                          {"", "", "a_b.c/d", "", ""},
	} {
		r, err := imageref.Parse(s)
		if err != nil || r.Domain != want.domain || r.Path != want.path || r.Tag != want.tag || r.Digest != want.digest {
			t.Errorf("%s: %+v %v, want %v", s, r, err, want)
		} else if want.full != "" && r.String() != want.full {
			t.Errorf("%s: %s, want %s", s, r, want.full)
		}
		if _, err := imageref.ParseCanonical(s); (err == imageref.ErrNotCanonical) != (want.full != "") {
			t.Errorf("%s: %v", s, err)
		}
	}
	if got := imageref.Full("a b"); got != "a b" {
		t.Errorf("a b stands for %s", got)
	}
}

func TestSplit(t *testing.T) {
	for ref, want := range map[string][3]string{
		"a":                           {"a"},
		"a/b:":                        {"a/b"},
		"h:5000/a":                    {"h:5000/a"},
		"h:5000/a:1":                  {"h:5000/a", "1"},
		"h/a:1@sha256:ff":             {"h/a", "1", "sha256:ff"},
		"h/a@sha256:ff":               {"h/a", "", "sha256:ff"},
		"${REGISTRY:=ghcr.io}/a:${V}": {"${REGISTRY:=ghcr.io}/a", "${V}"},
	} {
		if name, tag, digest := imageref.Split(ref); [3]string{name, tag, digest} != want {
			t.Errorf("%s: %q, %q, %q", ref, name, tag, digest)
		}
	}
}
