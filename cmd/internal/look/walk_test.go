package look

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// place is a destination in memory.
type place struct {
	publish.Destination
	provider layouts.Provider
	versions []string
	lost     map[string]bool // listed, without a release
	err      error
}

func (p *place) Versions(context.Context) ([]string, error) { return p.versions, p.err }

func (p *place) Fetch(_ context.Context, version string) (*repo.Release, error) {
	if p.lost[version] {
		return nil, fmt.Errorf("%s: %w", version, fs.ErrNotExist)
	}
	metadata := "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 0, minor: 1, contract: v1beta1}\n- {major: 0, minor: 2, contract: v1beta1}\n"
	return &repo.Release{Provider: p.provider, Version: version, Path: p.provider.Label() + "/" + version, Artifacts: []*repo.Artifact{
		repo.BytesArtifact(layouts.MetadataFile, []byte(metadata)),
		repo.BytesArtifact("infrastructure-components.yaml", []byte("# "+version)),
	}}, nil
}

// providers are n subjects: one in ten has a tag without a release.
func providers(n int) []subject {
	var out []subject
	for i := range n {
		p := &place{provider: layouts.Provider{Type: layouts.Infrastructure, Name: fmt.Sprintf("p%d", i)}, versions: []string{"v0.1.0", "v0.2.0", "v0.1.1", "nightly"}, lost: map[string]bool{"v0.2.0": i%10 == 0}}
		out = append(out, subject{Name: p.provider.Label(), Provider: p.provider, Local: true, From: func() (publish.Destination, error) { return p, nil }})
	}
	return out
}

// options judge by counting; the number of judged releases is counted in judged.
func options(judged *atomic.Int64) walkOptions {
	return walkOptions{Newest: 2, Workers: 4, Program: "test", Identity: "test", State: &verdicts{}, Judge: func(_ context.Context, r *repo.Release) (inventory.Release, error) {
		judged.Add(1)
		return inventory.Release{Errors: len(r.Provider.Name), Contracts: []inventory.Contract{}, Findings: []inventory.Finding{}, Images: []string{}}, nil
	}}
}

const many = 500

// A run that is interrupted again and again finishes with the result of one that
// was not, and judges every release once.
func TestInterruptedRunsFinish(t *testing.T) {
	var once atomic.Int64
	want := given.Value(walk(context.Background(), providers(many), options(&once)))(t)
	file := filepath.Join(t.TempDir(), "state", "x.jsonl")
	var judged atomic.Int64
	for round := range 100 {
		state := given.Value(openState(file))(t)
		ctx, cancel := context.WithCancel(context.Background())
		o := options(&judged)
		o.State = state
		before := judged.Load()
		judge := o.Judge
		o.Judge = func(ctx context.Context, r *repo.Release) (inventory.Release, error) {
			if judged.Load() > before+60 {
				cancel()
				return inventory.Release{}, context.Canceled
			}
			return judge(ctx, r)
		}
		subjects := providers(many)
		slices.Reverse(subjects) // the order of the source does not count
		got, err := walk(ctx, subjects, o)
		cancel()
		state.Close()
		if errors.Is(err, context.Canceled) {
			cutLine(t, file, round)
			continue
		}
		given.NoError(t, err)
		if !bytes.Equal(given.Value(json.Marshal(got))(t), given.Value(json.Marshal(want))(t)) {
			t.Error("the result differs from that of one run")
		}
		// Each interruption may cost one line that was cut short.
		if n := judged.Load(); round < 5 || n > once.Load()+int64(round) {
			t.Errorf("%d releases judged in %d rounds, want about %d", n, round+1, once.Load())
		}
		return
	}
	t.Fatal("100 rounds did not finish")
}

// cutLine takes the end of the last line away, as a killed program does.
func cutLine(t *testing.T, file string, round int) {
	t.Helper()
	if round%2 == 0 {
		return
	}
	info := given.Value(os.Stat(file))(t)
	given.NoError(t, os.Truncate(file, info.Size()-10))
}

func TestWhatIsFound(t *testing.T) {
	var judged atomic.Int64
	subjects := providers(2)
	broken := &place{err: errors.New("no route")}
	empty := &place{}
	subjects = append(subjects,
		subject{Name: "broken", From: func() (publish.Destination, error) { return broken, nil }},
		subject{Name: "empty", From: func() (publish.Destination, error) { return empty, nil }})
	var mu sync.Mutex
	var told []string
	o := options(&judged)
	o.Done = func(p *inventory.Provider, done, all int) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf("%d/%d", done, all))
	}
	s := given.Value(walk(context.Background(), subjects, o))(t)
	if s.Failed() != 2 || s.Providers[0].Failure != "no route" || !strings.Contains(s.Providers[1].Failure, "no version") {
		t.Errorf("failures: %+v", s.Providers[:2])
	}
	first, second := s.Providers[2], s.Providers[3]
	if fmt.Sprint(first.WithoutRelease) != "[v0.2.0]" || first.Versions != 3 || first.Releases[0].Version != "v0.1.1" {
		t.Errorf("p0: %+v", first)
	}
	if u := second.Upgrade; u == nil || u.From != "v0.1.1" || u.To != "v0.2.0" || u.Problem != "" {
		t.Errorf("upgrade of p1: %+v", u)
	}
	if strings.Join(told, " ") != "1/4 2/4 3/4 4/4" {
		t.Errorf("told %v", told)
	}
}

func TestMergeRefuses(t *testing.T) {
	shard := func(i, of int, source string) *inventory.Survey {
		return &inventory.Survey{Source: source, Newest: 2, Shard: &inventory.Shard{Index: i, Of: of}, Providers: []inventory.Provider{}}
	}
	for want, shards := range map[string][]*inventory.Survey{
		"shards are missing: [2/3 3/3]": {shard(1, 3, "x")},
		"are both shard 1/2":            {shard(1, 2, "x"), shard(1, 2, "x")},
		"different sources":             {shard(1, 2, "x"), shard(2, 2, "y")},
		"with another --newest":         {shard(1, 2, "x"), {Source: "x", Shard: &inventory.Shard{Index: 2, Of: 2}}},
		"is shard 2/3":                  {shard(1, 2, "x"), shard(2, 3, "x")},
		"is not a shard":                {{Source: "x"}},
	} {
		if _, err := inventory.Merge(shards, []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A file that is something else is not added to.
func TestStateRefusesOtherFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.txt")
	given.NoError(t, os.WriteFile(file, []byte("one\ntwo\n"), 0o644))
	if _, err := openState(file); err == nil {
		t.Error("accepted")
	}
}
