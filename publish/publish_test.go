package publish_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func release(files ...string) *repo.Release {
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Path: "out"}
	for i := 0; i < len(files); i += 2 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(files[i], []byte(files[i+1])))
	}
	return r
}

func TestCheckFileName(t *testing.T) {
	for name, want := range map[string]string{
		"metadata.yaml":               "",
		"cluster-template-a+b_c.yaml": "",
		"SHA256SUMS":                  "",
		"v1.0.0-rc.1+build":           "",
		"console.yaml":                "",
		strings.Repeat("a", 255):      "",
		strings.Repeat("a", 256):      "more than 255",
		"":                            "must begin",
		".":                           "must begin",
		"..":                          "must begin",
		".hidden":                     "must begin",
		"-f":                          "must begin",
		"../x":                        "must begin",
		"a/b":                         "must begin",
		`a\b`:                         "must begin",
		"a:b":                         "must begin",
		"a b":                         "must begin",
		"a\n":                         "must begin",
		"a\x00":                       "must begin",
		"é.yaml":                      "must begin",
		"a.":                          "end with a dot",
		"nul":                         "device",
		"CON.yaml":                    "device",
		"com1.tar.gz":                 "device",
	} {
		err := publish.CheckFileName(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*repo.Release)
		want   string
	}{
		"sound":         {func(*repo.Release) {}, ""},
		"no files":      {func(r *repo.Release) { r.Artifacts = nil }, "no files"},
		"no type":       {func(r *repo.Release) { r.Provider.Type = "" }, "provider type"},
		"no name":       {func(r *repo.Release) { r.Provider.Name = "" }, "provider name"},
		"name leaves":   {func(r *repo.Release) { r.Provider.Name = "../x" }, "provider name"},
		"version":       {func(r *repo.Release) { r.Version = "latest" }, "semantic version"},
		"leaves":        {func(r *repo.Release) { r.Version = "../v1.0.0" }, "semantic version"},
		"file name":     {func(r *repo.Release) { r.Artifacts[0].Name = "../x" }, "file name"},
		"case":          {func(r *repo.Release) { r.Artifacts[0].Name = "METADATA.yaml" }, "case"},
		"twice":         {func(r *repo.Release) { r.Artifacts[0].Name = "metadata.yaml" }, "case"},
		"left behind":   {func(r *repo.Release) { r.Oddities = []repo.Oddity{{Kind: repo.OddSubfolder, Path: "x"}} }, "x"},
		"hidden beside": {func(r *repo.Release) { r.Oddities = []repo.Oddity{{Kind: repo.OddHidden, Path: ".x"}} }, ""},
	} {
		r := release("a.yaml", "", "metadata.yaml", "")
		tc.change(r)
		err := publish.Check(r)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestCompare(t *testing.T) {
	odd := release("a", "1", "b", "2")
	odd.Oddities = []repo.Oddity{{Kind: repo.OddHidden, Path: "out/.x"}, {Kind: repo.OddSubfolder, Path: "out/aa"}}
	for name, tc := range map[string]struct {
		published, r *repo.Release
		want         string
	}{
		"equal":       {release("b", "2", "a", "1"), release("a", "1", "b", "2"), ""},
		"content":     {release("a", "1", "b", "2"), release("a", "1", "b", "3"), "changed b"},
		"length":      {release("a", "1", "b", "2"), release("a", "11", "b", ""), "changed a, b"},
		"more":        {release("a", "1"), release("a", "1", "b", "2"), "not published b"},
		"less":        {release("a", "1", "b", "2"), release("a", "1"), "only published b"},
		"odd":         {odd, release("a", "1"), "only published aa, b"},
		"all of them": {release("a", "1", "b", "2"), release("b", "1", "c", "2"), "changed b; not published c; only published a"},
	} {
		got := given.Value(publish.Compare(t.Context(), tc.published, tc.r))(t)
		if diff := cmp.Diff(tc.want, got.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if got.IsZero() != (tc.want == "") {
			t.Errorf("%s: IsZero is %v", name, got.IsZero())
		}
	}
	broken := errors.New("broken")
	bad := release()
	bad.Artifacts = append(bad.Artifacts, repo.NewArtifact("a", "a", 1, func() (io.ReadCloser, error) { return nil, broken }))
	for _, pair := range [][2]*repo.Release{{bad, release("a", "1")}, {release("a", "1"), bad}} {
		if _, err := publish.Compare(t.Context(), pair[0], pair[1]); !errors.Is(err, broken) {
			t.Errorf("a file that cannot be read: %v", err)
		}
	}
}
