package yamldoc

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

func sameOutput(t *testing.T, v any) {
	t.Helper()
	want, wantErr := yaml.Marshal(v)
	got, err := Marshal(v)
	if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
		t.Errorf("%#v:\n got %q, %v\nwant %q, %v", v, got, err, want, wantErr)
	}
}

func TestMarshalWritesWhatSigsYAMLWrites(t *testing.T) {
	for _, v := range []any{
		nil, true, 1, int64(-1), uint64(math.MaxUint64), 0.0, math.Copysign(0, -1), 1.5, 1e6, 1e20, 1e21, 1e-7, -2.0, 9007199254740993.0, math.MaxFloat64,
		"", "yes", "1", "1.0", "~", "null", "a: b", "- a", "a\nb\n", "a\n\n", " a", "a ", "é", "日本", "😀", "a\tb", "\u0085", "\u2028", "\ufeff", "\x7f", "\x01", "a\xffb", "0x1", "1e3", "<a>&", "\u200b", "#", "${A}", "2001-01-01",
		[]any(nil), []any{}, map[string]any(nil), map[string]any{}, []any{nil, 1.0, []any{2.0}, "x"},
		map[string]any{"b": 1.0, "a": map[string]any{"y": "n", "n": "y", "10": 1, "9": 2, "<<": "x", "é": 1}, "c": []any{map[string]any{"z": 1.25}}},
		struct {
			A int `json:"a"`
		}{1}, json.Number("12"), math.Inf(1), []string{"a"},
	} {
		sameOutput(t, v)
		sameOutput(t, map[string]any{"k": v})
	}
}

func FuzzMarshal(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,1e6,"yes"]}`, `"\u0085"`, `{"1":"a","10":"b"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) == nil {
			sameOutput(t, v)
		}
	})
}

func TestMarshalCorpus(t *testing.T) {
	share.SkipInRace(t)
	files := 0
	err := filepath.WalkDir(share.Corpus(t, "releases"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		if files++; files%share.Of(3, 1) != 0 {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, d := range Parse(NewFile(path, data)).Docs {
			if d.Err == nil {
				want, _ := yaml.Marshal(d.Root.Value())
				if got, err := Marshal(d.Root.Value()); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s document %d: written differently, %v", path, d.Index, err)
				}
			}
		}
		return nil
	})
	given.NoError(t, err)
}
