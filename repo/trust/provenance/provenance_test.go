package provenance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func release(files ...string) *repo.Release {
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Path: "out"}
	for i := 0; i < len(files); i += 2 {
		put(r, files[i], files[i+1])
	}
	return r
}

func put(r *repo.Release, name, data string) {
	remove(r, name)
	r.Artifacts = append(r.Artifacts, repo.BytesArtifact(name, []byte(data)))
	r.Sort()
}

func remove(r *repo.Release, name string) {
	r.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(a *repo.Artifact) bool { return a.Name == name })
}

func content(t testing.TB, r *repo.Release, name string) string {
	t.Helper()
	a := r.Artifact(name)
	if a == nil {
		t.Fatalf("there is no %s", name)
	}
	return string(given.Value(a.Bytes())(t))
}

const (
	sumOfHello = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" // echo hello | sha256sum
	sumOfEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // sha256sum </dev/null
	commit     = "0123456789abcdef0123456789abcdef01234567"
)

// ofFiles is how every statement of TestStatement begins.
const ofFiles = `{
  "_type": "https://in-toto.io/Statement/v1",
  "subject": [
    {
      "name": "cluster-template.yaml",
      "digest": {
        "sha256": "` + sumOfEmpty + `"
      }
    },
    {
      "name": "metadata.yaml",
      "digest": {
        "sha256": "` + sumOfHello + `"
      }
    }
  ],
  "predicateType": "https://slsa.dev/provenance/v1",
`

func TestStatement(t *testing.T) {
	r := release("metadata.yaml", "hello\n", "cluster-template.yaml", "", "SHA256SUMS", "x", "SHA256SUMS.sig", "x", "provenance.intoto.json", "x", "provenance.intoto.jsonl", "x")
	for name, tc := range map[string]struct {
		build Build
		want  string
	}{
		"least": {Build{}, ofFiles + `  "predicate": {
    "buildDefinition": {
      "buildType": "https://github.com/clusterctl-repo/clusterctl-repo/build/v1",
      "externalParameters": {
        "provider": "infrastructure-foo",
        "version": "v1.0.0"
      }
    },
    "runDetails": {
      "builder": {
        "id": "https://github.com/clusterctl-repo/clusterctl-repo"
      }
    }
  }
}
`},
		"most": {Build{
			Source: "https://token@example.com/acme/foo?x=y", Commit: commit,
			Images: map[string]string{"b": "r/b:v1", "a": "r/a<&>:v1"}, Options: map[string]string{"as-is": "true"},
			Builder: "https://example.com/runner", ToolVersion: "v0.1.0", Invocation: "https://example.com/runs/1",
			Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)), Finished: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		}, ofFiles + `  "predicate": {
    "buildDefinition": {
      "buildType": "https://github.com/clusterctl-repo/clusterctl-repo/build/v1",
      "externalParameters": {
        "provider": "infrastructure-foo",
        "version": "v1.0.0",
        "source": "git+https://example.com/acme/foo",
        "images": {
          "a": "r/a<&>:v1",
          "b": "r/b:v1"
        },
        "options": {
          "as-is": "true"
        }
      },
      "resolvedDependencies": [
        {
          "uri": "git+https://example.com/acme/foo",
          "digest": {
            "gitCommit": "` + commit + `"
          },
          "name": "source"
        }
      ]
    },
    "runDetails": {
      "builder": {
        "id": "https://example.com/runner",
        "version": {
          "clusterctl-repo": "v0.1.0"
        }
      },
      "metadata": {
        "invocationId": "https://example.com/runs/1",
        "startedOn": "2026-01-02T02:04:05Z",
        "finishedOn": "2026-01-02T03:04:05Z"
      }
    }
  }
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			got := given.Value(newStatement(t.Context(), r, tc.build))(t)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Error(diff)
			}
			put(r, layouts.ProvenanceFile, string(got))
			if err := Verify(t.Context(), r); err != nil {
				t.Error(err)
			}
			if again := given.Value(newStatement(t.Context(), r, tc.build))(t); !bytes.Equal(got, again) {
				t.Error("a second statement differs")
			}
		})
	}
}

func TestStatementRefuses(t *testing.T) {
	for name, b := range map[string]Build{
		"the commit":       {Commit: commit[1:]},
		"not a git commit": {Commit: strings.ToUpper(commit)},
		"the builder is":   {Builder: "s3cret"},
		"the invocation":   {Invocation: "https://%zz:s3cret@x"},
	} {
		_, err := newStatement(t.Context(), release("a", ""), b)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSource(t *testing.T) {
	for remote, want := range map[string]string{
		"":                                      "",
		"https://github.com/acme/foo":           "git+https://github.com/acme/foo",
		"https://github.com/acme/foo.git":       "git+https://github.com/acme/foo.git",
		"git+https://github.com/acme/foo":       "git+https://github.com/acme/foo",
		"https://user:s3cret@example.com/a/foo": "git+https://example.com/a/foo",
		"https://s3cret@example.com:8443/a/foo": "git+https://example.com:8443/a/foo",
		"https://example.com/a?token=s3cret#x":  "git+https://example.com/a",
		"git@github.com:acme/foo.git":           "git+ssh://github.com/acme/foo.git",
		"git@github.com:/acme/foo.git":          "git+ssh://github.com/acme/foo.git",
		"ssh://git@example.com:2222/acme/foo":   "git+ssh://example.com:2222/acme/foo",
		"git://example.com/foo":                 "git+git://example.com/foo",
		"example.com:foo":                       "git+ssh://example.com/foo",
		"oci://example.com/foo":                 "oci://example.com/foo",
		"/home/me/foo":                          "",
		"../foo":                                "",
		"./a:b":                                 "",
		`C:\src\foo`:                            "",
		"C:/src/foo":                            "",
		"file:///home/me/foo":                   "",
		"file://host/home/me/foo":               "",
		"git+file://host/home/me":               "",
		"https:///foo":                          "",
		"https://s3cret:%zz@x/":                 "",
		"\x00":                                  "",
	} {
		if got := sourceOf(t, remote); got != want {
			t.Errorf("%q: got %q, want %q", remote, got, want)
		}
	}
}

// sourceOf returns the source in the statement of a build from there.
func sourceOf(t *testing.T, remote string) string {
	t.Helper()
	var s struct {
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters struct{ Source string }
			}
		}
	}
	given.NoError(t, json.Unmarshal(given.Value(newStatement(t.Context(), release(), Build{Source: remote}))(t), &s))
	return s.Predicate.BuildDefinition.ExternalParameters.Source
}

func TestAdd(t *testing.T) {
	r := release("metadata.yaml", "hello\n")
	put(r, layouts.ChecksumFile, string(given.Value(repo.Checksums(t.Context(), r))(t)))
	before := len(r.Artifacts)
	out := given.Value(Add(t.Context(), r, Build{}))(t)
	if len(r.Artifacts) != before {
		t.Error("the argument changed")
	}
	given.NoError(t, errors.Join(Verify(t.Context(), out), repo.VerifyChecksums(t.Context(), out)))
	put(out, "SHA256SUMS.sig", "of the other files")
	again := given.Value(Add(t.Context(), out, Build{}))(t)
	if len(again.Artifacts) != 3 || content(t, again, layouts.ChecksumFile) != content(t, out, layouts.ChecksumFile) {
		t.Errorf("a second time gives %d files", len(again.Artifacts))
	}
	put(out, "metadata.yaml", "changed")
	_, err := Add(t.Context(), out, Build{})
	if _, ok := errors.AsType[*repo.ChecksumError](err); !ok {
		t.Errorf("got %v, want a ChecksumError", err)
	}
}

func TestVerify(t *testing.T) {
	good := string(given.Value(newStatement(t.Context(), release("a", "hello\n", "b", ""), Build{}))(t))
	replace := func(old, new string) func(*testing.T, *repo.Release) {
		return func(t *testing.T, r *repo.Release) {
			if !strings.Contains(good, old) {
				t.Fatalf("the statement has no %s", old)
			}
			put(r, layouts.ProvenanceFile, strings.ReplaceAll(good, old, new))
		}
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, r *repo.Release)
		want   string // all problems, or a part of another error
		other  bool
	}{
		"sound":         {change: func(*testing.T, *repo.Release) {}},
		"not yet known": {change: func(_ *testing.T, r *repo.Release) { r.Provider = layouts.Provider{} }},
		"of several":    {replace(`"provider"`, `"x"`), "it is for several providers, but these are the files of infrastructure-foo", false},
		"what is made": {change: func(_ *testing.T, r *repo.Release) {
			put(r, "SHA256SUMS", "")
			put(r, "SHA256SUMS.sig", "")
			put(r, layouts.SignedProvenanceFile, "")
		}},
		"new field":        {change: replace(`"_type"`, `"new": [], "_type"`)},
		"other order":      {change: replace(`"a"`, `"a" `)},
		"other builder":    {change: replace(buildType, "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1")},
		"changed":          {func(_ *testing.T, r *repo.Release) { put(r, "a", "") }, "a has the checksum " + sumOfEmpty, false},
		"swapped":          {func(_ *testing.T, r *repo.Release) { put(r, "a", ""); put(r, "b", "hello\n") }, "a has the checksum " + sumOfEmpty + "\nb has the checksum " + sumOfHello, false},
		"removed":          {func(_ *testing.T, r *repo.Release) { remove(r, "b") }, `"b" is missing`, false},
		"added":            {func(_ *testing.T, r *repo.Release) { put(r, "c", "") }, "c is not a subject", false},
		"renamed":          {func(_ *testing.T, r *repo.Release) { remove(r, "b"); put(r, "B", "") }, "\"b\" is missing\nB is not a subject", false},
		"other version":    {func(_ *testing.T, r *repo.Release) { r.Version = "v2.0.0" }, "it is for version v1.0.0, but these are the files of v2.0.0", false},
		"other provider":   {func(_ *testing.T, r *repo.Release) { r.Provider.Name = "bar" }, "it is for infrastructure-foo, but these are the files of infrastructure-bar", false},
		"twice":            {replace(`"b"`, `"a"`), "\"a\" is listed twice as a subject\nb is not a subject", false},
		"another hash":     {replace("sha256", "sha512"), "a has no SHA-256 in the statement\nb has no SHA-256 in the statement", false},
		"short hash":       {replace(sumOfEmpty, sumOfEmpty[2:]), "b has no SHA-256 in the statement", false},
		"long hash":        {replace(sumOfEmpty, sumOfEmpty+"00"), "b has no SHA-256 in the statement", false},
		"no hex":           {replace(sumOfEmpty, "x"+sumOfEmpty[1:]), "b has no SHA-256 in the statement", false},
		"path":             {replace(`"b"`, `"../b\n"`), "\"../b\\n\" is missing\nb is not a subject", false},
		"no JSON":          {func(_ *testing.T, r *repo.Release) { put(r, layouts.ProvenanceFile, good+"x") }, "provenance.intoto.json is not an in-toto statement", true},
		"no object":        {func(_ *testing.T, r *repo.Release) { put(r, layouts.ProvenanceFile, "[]") }, "is not an in-toto statement", true},
		"old statement":    {replace("Statement/v1", "Statement/v0.1"), "is not an in-toto statement: its _type", true},
		"other predicate":  {replace("provenance/v1", "provenance/v0.2"), "is not SLSA provenance: its predicateType", true},
		"no build type":    {replace("buildType", "x"), "it has no buildType", true},
		"no builder":       {replace(`"id"`, `"x"`), "it has no builder id", true},
		"wrong parameters": {replace(`"version": "v1.0.0"`, `"version": 1`), "has no externalParameters", true},
		"no parameters":    {replace("externalParameters", "x"), "has no externalParameters", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := release("a", "hello\n", "b", "", layouts.ProvenanceFile, good)
			tc.change(t, r)
			err := Verify(t.Context(), r)
			failed, mismatch := errors.AsType[*MismatchError](err)
			switch {
			case tc.want == "":
				if err != nil {
					t.Error(err)
				}
			case tc.other:
				if err == nil || mismatch || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
			case !mismatch:
				t.Errorf("got %v, want a MismatchError", err)
			case strings.Join(failed.Problems, "\n") != tc.want:
				t.Errorf("got\n%s\nwant\n%s", strings.Join(failed.Problems, "\n"), tc.want)
			}
		})
	}
	if err := Verify(t.Context(), release("a", "")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a statement: %v, want fs.ErrNotExist", err)
	}
}

func TestContext(t *testing.T) {
	r := given.Value(Add(t.Context(), release("a", "x"), Build{}))(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := Verify(ctx, r); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if _, err := Add(ctx, r, Build{}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// What is accepted is the truth, whatever the statement says beside.
func FuzzVerify(f *testing.F) {
	good := given.Value(newStatement(f.Context(), release("a", "hello\n"), Build{Commit: commit, Source: "https://example.com/x"}))(f)
	f.Add(good)
	f.Add([]byte(`{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{"buildType":"x"},"runDetails":{"builder":{"id":"x"}}}}`))
	f.Add([]byte(`{"subject":[{"name":"a","digest":null},null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range []string{"hello\n", "other"} {
			r := release("a", file, layouts.ProvenanceFile, string(data))
			sum := given.Value(r.Artifact("a").Sum(t.Context()))(t)
			// JSON can spell a digit as an escape, too.
			if Verify(t.Context(), r) == nil && !bytes.Contains(bytes.ToLower(data), []byte(sum.String())) && !bytes.Contains(data, []byte(`\u`)) {
				t.Errorf("accepted %q for %q", data, file)
			}
		}
	})
}

// Whatever a remote is, the statement has no credentials in its URI.
func FuzzSource(f *testing.F) {
	for _, s := range []string{"https://u:p@h/p", "u:p@h:p", "ssh://u@h/p", "https://h/u:p@x", "a:b@c", "x://u:p@h", "git+https://u:p@h/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		got := sourceOf(t, remote)
		if got == "" {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(u.Scheme, "file") {
			t.Errorf("%q gives %q (%v)", remote, got, err)
		}
	})
}
