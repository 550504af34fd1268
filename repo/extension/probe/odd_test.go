package probe_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
)

// odd changes a JSON value here and there.
func odd(r *rand.Rand, v any) any {
	if r.IntN(12) == 0 {
		return []any{
			nil, true, 0, -1, 1e300, "", "x", "\u0000", strings.Repeat("a", 300), []any{}, []any{nil}, map[string]any{}, map[string]any{"a": nil},
			[]any{map[string]any{"name": 1}}, encode([]object{{"op": "remove", "path": ""}}), encode(nil), "builtin", "v1.2.3", "Failure",
		}[r.IntN(19)]
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if r.IntN(20) > 0 {
				out[key] = odd(r, value)
			}
			if r.IntN(20) == 0 {
				out[strings.ToUpper(key)] = odd(r, value)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			for range 1 + r.IntN(8)/7 {
				out = append(out, odd(r, item))
			}
		}
		return out
	}
	return v
}

// TestOddServersBreakNothing checks servers whose answers are wrong in any way: the
// probe ends, breaks nowhere, and says something that people can read.
func TestOddServersBreakNothing(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r, mu := rand.New(rand.NewPCG(seed, 1)), sync.Mutex{}
			s := healthy("")
			for hook, good := range s.answers {
				s.answers[hook] = func(request object) object {
					var answer any
					data, _ := json.Marshal(good(request))
					_ = json.Unmarshal(data, &answer)
					mu.Lock()
					defer mu.Unlock()
					for {
						if o, ok := odd(r, answer).(object); ok {
							return o
						}
					}
				}
			}
			s.wrap = func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
					mu.Lock()
					n := r.IntN(60)
					mu.Unlock()
					switch n {
					case 0:
						w.WriteHeader(http.StatusTeapot)
					case 1:
						panic(http.ErrAbortHandler)
					case 2:
						_, _ = w.Write([]byte("{"))
					default:
						next.ServeHTTP(w, request)
					}
				})
			}
			report := probe.Run(t.Context(), options(t, s.start(t, ca), ca))
			for _, err := range report.Failures {
				t.Error(err)
			}
			for _, f := range report.Findings {
				if f.Message == "" || len(f.Message) > 1000 {
					t.Errorf("%s says %q", f.Rule.ID, f.Message)
				}
			}
		})
	}
}
