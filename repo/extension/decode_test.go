package extension_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// answerText is an answer in which anything may be odd.
func answerText(r *rand.Rand, h *extension.Hook) string {
	value := func(good string) string {
		if r.IntN(6) > 0 {
			return good
		}
		odd := []string{`null`, `1`, `-1`, `1.5`, `"x"`, `""`, `true`, `{}`, `[]`, `[null]`, `[{}]`, `["x"]`, `{"patch":1}`, `2147483648`, `"10"`, `1e2`}
		return odd[r.IntN(len(odd))]
	}
	key := func(name string) string {
		switch r.IntN(12) {
		case 0:
			name = strings.ToUpper(name)
		case 1:
			name += "s"
		}
		return fmt.Sprintf("%q:", name)
	}
	patch := func() string {
		return "{" + key("patchType") + value(`"JSONPatch"`) + "," + key("patch") + value(`"W10="`) + "}"
	}
	good := map[string]func() string{
		"retryAfterSeconds": func() string { return "10" },
		"handlers": func() string {
			return `[{` + key("name") + value(`"a"`) + "," + key("requestHook") + value(`{"apiVersion":"x","hook":"y"}`) + "," + key("timeoutSeconds") + value("5") + "," + key("failurePolicy") + value(`"Fail"`) + `}]`
		},
		"items":                func() string { return `[{` + key("uid") + value(`"1"`) + "," + patch()[1:] + `]` },
		"variables":            func() string { return `[]` },
		"controlPlaneUpgrades": func() string { return `[{` + key("version") + value(`"v1.2.3"`) + `}]` },
		"workersUpgrades":      func() string { return `[{` + key("version") + value(`"v1.2.3"`) + `}]` },
	}
	fields := []string{key("status") + value(`"Success"`), key("message") + value(`"m"`), key("kind") + value(`"K"`), key("apiVersion") + value(`"v"`)}
	for _, f := range h.Response {
		text := patch
		if g := good[f.Name]; g != nil {
			text = g
		}
		fields = append(fields, key(f.Name)+value(text()))
	}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return "{" + strings.Join(fields[:r.IntN(len(fields)+1)], ",") + "}"
}

// TestDecodeAgrees decodes answers as we and as Cluster API do. What variables of
// DiscoverVariables are is looked at elsewhere.
func TestDecodeAgrees(t *testing.T) {
	c := catalog.New()
	given.NoError(t, hooksv1.AddToCatalog(c))
	r := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for _, h := range extension.Hooks(contract.NewestCore) {
		for range 2000 {
			text := answerText(r, h)
			real, err := c.NewResponse(catalog.GroupVersionHook{Group: extension.Group, Version: extension.Version, Hook: h.Name})
			given.NoError(t, err)
			want := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(real)
			got, gotErr := h.Decode([]byte(text))
			var mismatch *json.UnmarshalTypeError
			if errors.As(want, &mismatch) && strings.HasPrefix(mismatch.Field, "variables") {
				continue
			}
			if (want == nil) != (gotErr == nil) {
				t.Fatalf("%s: %s\nCluster API: %v\nthe tool: %v", h.Name, text, want, gotErr)
			}
			if want != nil {
				refused++
				if errors.As(want, &mismatch) && extension.Misfit(gotErr) == "" {
					t.Errorf("%s: %s: the field of %v is not found", h.Name, text, want)
				}
				continue
			}
			response := real.(hooksv1.ResponseObject)
			if c := got.Common(); c.Status != string(response.GetStatus()) || c.Message != response.GetMessage() {
				t.Fatalf("%s: %s\nCluster API: %s %q\nthe tool: %+v", h.Name, text, response.GetStatus(), response.GetMessage(), c)
			}
			if retry, ok := real.(hooksv1.RetryResponseObject); ok && retry.GetRetryAfterSeconds() != got.(*extension.RetryResponse).RetryAfterSeconds {
				t.Fatalf("%s: %s: retryAfterSeconds", h.Name, text)
			}
		}
	}
	if refused == 0 {
		t.Error("no answer is refused")
	}
}
