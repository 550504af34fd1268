package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// exchange is one request in the recorded traffic of @octokit/fixtures.
type exchange struct {
	Method, Path    string
	Body            any
	Status          int
	Response        json.RawMessage
	RequestHeaders  map[string]any `json:"reqheaders"`
	ResponseHeaders map[string]any `json:"headers"`
}

func recorded(t *testing.T, scenario string) []exchange {
	t.Helper()
	root := os.Getenv("OCTOKIT_FIXTURES")
	if root == "" {
		t.Skip("no recorded traffic; set OCTOKIT_FIXTURES to the unpacked npm package @octokit/fixtures 23.1.2")
	}
	raw := given.Read(t, filepath.Join(root, "scenarios", "api.github.com", scenario, "normalized-fixture.json"))
	var out []exchange
	given.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// TestRecorded sends what was recorded at GitHub to the fake and compares the
// answers: status, names of the headers that clients read, and the names of all
// fields. The fake may have fields that are younger than the recording.
func TestRecorded(t *testing.T) {
	for scenario, there := range map[string][]github.Asset{
		"release-assets": nil, "release-assets-conflict": {{Name: "test-upload.txt", Data: []byte("old")}},
	} {
		t.Run(scenario, func(t *testing.T) {
			traffic := recorded(t, scenario)
			s := github.Start(t, github.Options{})
			s.AddToken(github.Token{Secret: secret, Right: github.Admin})
			s.AddRepository(github.Repository{Owner: "octokit-fixture-org", Name: scenario})
			name := "octokit-fixture-org/" + scenario
			id, err := s.AddRelease(name, github.Release{Tag: "v1.0.0", Name: "Version 1.0.0", Assets: there})
			given.NoError(t, err)
			for _, e := range traffic {
				// The numbers are others.
				path := strings.Replace(e.Path, "/releases/1000/", fmt.Sprintf("/releases/%d/", id), 1)
				if assets := s.Releases(name)[0].Assets; len(assets) > 0 {
					path = strings.Replace(path, "/assets/1000", fmt.Sprintf("/assets/%d", assets[0].ID), 1)
				}
				base := s.APIURL()
				if e.Method == "post" {
					base = s.UploadURL()
				}
				body, isText := e.Body.(string)
				if !isText {
					raw := given.Value(json.Marshal(e.Body))(t)
					body = string(raw)
				}
				req, err := http.NewRequest(strings.ToUpper(e.Method), strings.TrimSuffix(base, "/")+path, strings.NewReader(body))
				given.NoError(t, err)
				req.Header.Set("Authorization", "token "+secret)
				req.Header.Set("Accept", fmt.Sprint(e.RequestHeaders["accept"]))
				resp := given.Value(http.DefaultClient.Do(req))(t)
				raw, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				given.NoError(t, err)
				what := e.Method + " " + e.Path
				if resp.StatusCode != e.Status {
					t.Errorf("%s: %d, recorded %d", what, resp.StatusCode, e.Status)
				}
				for h := range e.ResponseHeaders {
					for _, read := range []string{"x-ratelimit-", "content-type", "x-github-request-id", "link", "location"} {
						if strings.HasPrefix(h, read) && resp.Header.Get(h) == "" {
							t.Errorf("%s: no header %s", what, h)
						}
					}
				}
				for h := range resp.Header {
					if h := strings.ToLower(h); strings.HasPrefix(h, "x-ratelimit") && e.ResponseHeaders[h] == nil {
						t.Errorf("%s: header %s was not recorded", what, h)
					}
				}
				for _, problem := range differ("", decode(e.Response), decode(raw)) {
					t.Errorf("%s: %s", what, problem)
				}
			}
		})
	}
}

func decode(raw []byte) (v any) {
	_ = json.Unmarshal(raw, &v)
	return v
}

// differ names the fields that are missing or of another kind.
func differ(path string, want, got any) (out []string) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{path + " is no object"}
		}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[k]; !ok {
				out = append(out, path+"/"+k+" is missing")
				continue
			}
			out = append(out, differ(path+"/"+k, want[k], got[k])...)
		}
	case []any:
		got, ok := got.([]any)
		if !ok {
			return []string{path + " is no array"}
		}
		// How many assets a release shows lags behind.
		for i := range min(len(want), len(got)) {
			out = append(out, differ(fmt.Sprintf("%s/%d", path, i), want[i], got[i])...)
		}
	case string:
		if want == "" {
			return nil
		}
		if _, ok := got.(string); !ok {
			out = append(out, fmt.Sprintf("%s is %v, no text", path, got))
		}
	default:
		if w, g := fmt.Sprintf("%T", want), fmt.Sprintf("%T", got); w != g {
			out = append(out, fmt.Sprintf("%s is %s, recorded %s", path, g, w))
		}
	}
	return out
}
