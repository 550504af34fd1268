package imageref_test

import (
	_ "crypto/sha256" // digests that clusterctl knows
	_ "crypto/sha512"
	"strings"
	"testing"

	"github.com/distribution/reference"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
)

var seeds = []string{
	"", "a", "A", "nginx", "nginx:1", "library/nginx", "docker.io/nginx", "index.docker.io/nginx", "docker.io/library/nginx:1.2@sha256:" + digest,
	"gcr.io/a/b:v1.0.0", "gcr.io:443/a/b", "localhost/a", "localhost:5000/a/b:c", "[::1]:80/a", "[fe80::1]/a", "[]/a", "a.b:/c", "a.b:x/c", "UPPER/a", "Upper.io/a/B", "a_b.c/d", "a__b/c___d",
	"a/b--c", "a/b-", "a/-b", "a..b/c", "a/b:", "a/b:.x", "a/b:" + strings.Repeat("x", 128), "a/b:" + strings.Repeat("x", 129), "a@sha256:" + digest, "a@sha256:" + digest[1:], "a@md5:" + digest[:32],
	"a@sha512:" + digest, "a@sha256:" + strings.ToUpper(digest), "a@x+y.z:" + digest, "a@-x:" + digest, "a@1:" + digest, "a@:" + digest, "a@sha256", "a:b@c:d", "a:b:c", "a@b@c", digest, "a/" + strings.Repeat("b/", 140) + "c",
	"a b", "a/é", "\u212a/a", "//", "/a", "a//b", "a/", "BAD IMAGE", "ghcr.io/org-v0.10.1/x:y", "-a.b/c", "a-.b/c", "a.-b/c", "1.2.3.4:5/x", "a.b/c.d_e-f__g/h:I_j.k-l",
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// FuzzAsTheLibrary compares with github.com/distribution/reference, which clusterctl
// uses.
func FuzzAsTheLibrary(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, parse := range map[string]struct {
			ours   func(string) (imageref.Ref, error)
			theirs func(string) (reference.Named, error)
		}{
			"Parse":          {imageref.Parse, reference.ParseNormalizedNamed},
			"ParseCanonical": {imageref.ParseCanonical, reference.ParseNamed},
		} {
			got, err := parse.ours(s)
			want, wantErr := parse.theirs(s)
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("%s(%q): %v, the library says %v", name, s, err, wantErr)
			}
			if err != nil {
				continue
			}
			tag, dig := "", ""
			if x, ok := want.(reference.Tagged); ok {
				tag = x.Tag()
			}
			if x, ok := want.(reference.Digested); ok {
				dig = x.Digest().String()
			}
			if got.Domain != reference.Domain(want) || got.Path != reference.Path(want) || got.Tag != tag || got.Digest != dig || got.String() != want.String() || got.Name() != want.Name() {
				t.Fatalf("%s(%q): %+v, the library says %s %s %s %s", name, s, got, reference.Domain(want), reference.Path(want), tag, dig)
			}
		}
	})
}

// TestRandom puts pieces together, which the fuzzer finds hard.
func TestRandom(t *testing.T) {
	pieces := []string{"a", "B", "0", ".", "_", "__", "-", "/", ":", "@", "sha256:", digest, "localhost", "[::1]", "docker.io", "x+y", " "}
	n := 0
	var all func(prefix string, depth int)
	all = func(prefix string, depth int) {
		n++
		compare(t, prefix)
		if depth > 0 {
			for _, p := range pieces {
				all(prefix+p, depth-1)
			}
		}
	}
	all("", 3)
	all("a/b", 3)
	all("a.b:1/c@sha256:"+digest[:62], 3)
	t.Logf("%d references", n)
}

func compare(t *testing.T, s string) {
	t.Helper()
	got, err := imageref.Parse(s)
	want, wantErr := reference.ParseNormalizedNamed(s)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || err == nil && got.String() != want.String() {
		t.Fatalf("%q: %v %v, the library says %v %v", s, got, err, want, wantErr)
	}
}
