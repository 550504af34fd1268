package oci

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestParseChallenges(t *testing.T) {
	type p = map[string]string
	for text, want := range map[string][]challenge{
		`Bearer realm="https://a/token",service="b c",scope="repository:x/y:pull,push"`: {{"bearer", p{"realm": "https://a/token", "service": "b c", "scope": "repository:x/y:pull,push"}}},
		`Basic realm="x", Bearer realm=y , service=z`:                                   {{"basic", p{"realm": "x"}}, {"bearer", p{"realm": "y", "service": "z"}}},
		`BASIC`:                       {{"basic", p{}}},
		`Negotiate abc==, Basic`:      {{"negotiate", p{"abc": ""}}, {"basic", p{}}},
		`Basic realm="a \"b\", \\c"`:  {{"basic", p{"realm": `a "b", \c`}}},
		`Bearer realm = "x"`:          {{"bearer", p{"realm": "x"}}},
		`Bearer realm="never ending`:  {{"bearer", p{"realm": "never ending"}}},
		``:                            nil,
		`, ,`:                         nil,
		`=x`:                          nil,
		`Bearer REALM="x",Realm2="y"`: {{"bearer", p{"realm": "x", "realm2": "y"}}},
	} {
		if got := parseChallenges([]string{text}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzParseChallenges(f *testing.F) {
	f.Add(`Bearer realm="https://a/token",service="b"`)
	f.Add(`Basic realm="a \"`)
	f.Add("= ,=\t\"")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range parseChallenges([]string{text}) {
			if c.scheme == "" || c.scheme != strings.ToLower(c.scheme) || strings.ContainsAny(c.scheme, " ,=\t") {
				t.Errorf("scheme %q of %q", c.scheme, text)
			}
		}
	})
}

func TestWithoutQueries(t *testing.T) {
	for text, want := range map[string]string{
		`PUT "https://a/b?_state=secret&digest=x": no`: `PUT "https://a/b": no`,
		`GET https://a/b?c=d failed, why?`:             `GET https://a/b failed, why?`,
		`https://a/b?c`:                                `https://a/b`,
		`nothing here`:                                 `nothing here`,
	} {
		if got := withoutQueries(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// FuzzOpen reads any manifest without a panic, and gives files only names that
// stay in a folder.
func FuzzOpen(f *testing.F) {
	for _, title := range []string{"metadata.yaml", "../x", "a/b", ""} {
		m := v1.Manifest{Layers: []v1.Descriptor{{Digest: v1.DescriptorEmptyJSON.Digest, Size: 2, Annotations: map[string]string{v1.AnnotationTitle: title, aliasOf: title}}}}
		data, _ := json.Marshal(m)
		f.Add(string(data))
	}
	f.Add(`{"layers":[{"digest":"x"}],"config":null,"annotations":{"a":"b"}}`)
	f.Add(`[]`)
	d := given.Value(New(Options{Host: "127.0.0.1:1", Repository: "a/b"}))(f)
	f.Fuzz(func(t *testing.T, data string) {
		if strings.Contains(data, v1.MediaTypeImageLayerGzip) {
			t.Skip("it would be downloaded")
		}
		r, err := d.open(t.Context(), "v1.0.0", v1.Descriptor{MediaType: v1.MediaTypeImageManifest}, []byte(data))
		if err != nil {
			if r != nil || !strings.HasPrefix(err.Error(), "oci://127.0.0.1:1/a/b:v1.0.0 ") {
				t.Errorf("%v, %v", r, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, a := range r.Artifacts {
			if publish.CheckFileName(a.Name) != nil || seen[a.Name] || a.Size < 0 {
				t.Errorf("file %+v", a)
			}
			seen[a.Name] = true
		}
		if len(r.Artifacts)+len(r.Oddities) == 0 {
			t.Errorf("nothing is in %s", data)
		}
	})
}

// A tag has 128 letters, of which a mark needs 51.
func TestClaimPrefix(t *testing.T) {
	seen := map[string]bool{}
	for n := range 200 {
		prefix := claimPrefix("v1.0.0-" + strings.Repeat("a", n))
		if len(prefix) > 128-51 || seen[prefix] || n < 60 && !strings.Contains(prefix, "v1.0.0-") {
			t.Errorf("%d letters: %s", n, prefix)
		}
		seen[prefix] = true
	}
}
