package publishtest

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// RoundTrip publishes a release where it is not, and reads it in every way. Other is the same
// version with other content. It returns what was planned and what was done.
func RoundTrip(t testing.TB, d publish.Destination, r, other *repo.Release) (plan, done publish.Result) {
	t.Helper()
	ctx := t.Context()
	if _, err := d.Fetch(ctx, r.Version); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("fetched what is not there: %v", err)
	}
	plan, err := d.Plan(ctx, r)
	if err != nil || plan.Unchanged || len(plan.Steps) == 0 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	if done, err = d.Put(ctx, r); err != nil || done.Unchanged || done.Where == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	again, err := d.Put(ctx, r)
	if err != nil || !again.Unchanged || again.Where != done.Where || again.Digest != done.Digest {
		t.Errorf("published twice: %+v, %v", again, err)
	}
	if plan, err := d.Plan(ctx, r); err != nil || !plan.Unchanged || plan.Steps != nil {
		t.Errorf("plan of what is published: %+v, %v", plan, err)
	}
	for _, do := range []func(context.Context, *repo.Release) (publish.Result, error){d.Put, d.Plan} {
		_, err := do(ctx, other)
		if c, conflict := errors.AsType[*publish.ConflictError](err); !conflict || c.IsZero() || path.Base(c.Where) != path.Base(done.Where) {
			t.Errorf("other content: %v", err)
		}
	}
	if err := d.Verify(ctx, other); err == nil {
		t.Error("other content is verified")
	}
	if err := d.Verify(ctx, r); err != nil {
		t.Error(err)
	}
	got, err := d.Fetch(ctx, r.Version)
	if err != nil {
		t.Fatal(err)
	}
	diff, err := publish.Compare(ctx, got, r)
	if err != nil || !diff.IsZero() || got.Version != r.Version || len(got.Oddities) > 0 {
		t.Errorf("fetched %+v: %s, %v", got, diff, err)
	}
	if err := publish.VerifyFiles(ctx, got, r); err != nil {
		t.Error(err)
	}
	return plan, done
}
