package github

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/google/go-github/v60/github"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

const (
	older   = "1111111111111111111111111111111111111111"
	younger = "2222222222222222222222222222222222222222"
)

func commits(r *fake.Repository) {
	r.Commits = []fake.Commit{{SHA: older, Date: time.Unix(1e9, 0)}, {SHA: younger, Date: time.Unix(2e9, 0)}}
}

func put(t testing.TB, d *Repository, r *repo.Release) publish.Result {
	t.Helper()
	return given.Value(d.Put(t.Context(), r))(t)
}

// TestRoundTrip publishes, lists, fetches and verifies, in every way in which a
// repository can be reached.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	enterprise := func(h *hub) func(*Options) {
		return func(o *Options) { o.ServerURL = "https://code.example.com"; o.Base = h.base }
	}
	for name, tc := range map[string]struct {
		options fake.Options
		private bool
		edit    func(*hub) func(*Options)
		former  bool
	}{
		"public":             {},
		"private":            {private: true},
		"private and direct": {private: true, options: fake.Options{Direct: true}},
		"no digests":         {options: fake.Options{NoDigests: true}},
		"enterprise":         {edit: enterprise},
		"private enterprise": {edit: enterprise, private: true},
		"renamed":            {former: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, tc.options)
			at := h.fresh(func(r *fake.Repository) {
				r.Private = tc.private
				if tc.former {
					r.Former = []string{"acme/old"}
				}
			})
			edit := func(*Options) {}
			if tc.edit != nil {
				edit = tc.edit(h)
			}
			d := h.open(t, at, edit)
			if tc.former {
				d = h.open(t, "old", edit)
			}
			for _, version := range []string{"v1.10.0", "v1.9.0", "v2.0.0-rc.0"} {
				r := sample(version)
				plan, got := publishtest.RoundTrip(t, d, r, files(version, "metadata.yaml", "other"))
				if len(plan.Steps) != len(r.Artifacts)+2 {
					t.Errorf("plan %+v", plan)
				}
				if want := d.opt.ServerURL + "/" + d.full() + "/releases/tag/" + version; got.Where != want {
					t.Errorf("where %s, want %s", got.Where, want)
				}
				wantNote := map[bool]string{true: "clusterctl reads releases from github.com only"}[d.enterprise()]
				if tc.former {
					wantNote = "is now called acme/" + at
				}
				if !strings.Contains(strings.Join(got.Notes, "\n"), wantNote) || wantNote == "" && len(noted(got)) > 0 {
					t.Errorf("notes %q", got.Notes)
				}
				h.holds(t, at, r)
				h.Faults.ClearLog()
				given.NoError(t, d.Verify(t.Context(), r))
				viaWeb := slices.ContainsFunc(h.Faults.Log(), func(e entry) bool { return e.Step == "download" })
				if want := !tc.private && !d.enterprise(); viaWeb != want {
					t.Errorf("verified over the pages: %v, want %v", viaWeb, want)
				}
			}
			if versions, err := d.Versions(t.Context()); err != nil || strings.Join(versions, " ") != "v1.9.0 v1.10.0 v2.0.0-rc.0" {
				t.Errorf("versions %v, %v", versions, err)
			}
			if got := h.Latest("acme/" + at); got != "v1.10.0" {
				t.Errorf("the latest is %s", got)
			}
			stranger := h.open(t, d.opt.Name, edit, func(o *Options) { o.Token = "" })
			got, err := stranger.Fetch(t.Context(), "v1.9.0")
			if tc.private != (err != nil) {
				t.Errorf("anonymous fetch: %v", err)
			}
			if err == nil {
				if err := publish.VerifyFiles(t.Context(), got, sample("v1.9.0")); err != nil {
					t.Error(err)
				}
			}
			if leaks := h.Leaks(); len(leaks) > 0 {
				t.Errorf("credentials went to %v", leaks)
			}
		})
	}
}

func TestReleaseOnGitHub(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version string
		before  []fake.Release
		edit    func(*Options)

		latest, target string
		prerelease     bool
		body           string
	}{
		"build part":          {version: "v1.0.0+b.1", latest: "v1.0.0+b.1", target: younger},
		"highest":             {version: "v1.3.0", before: []fake.Release{{Tag: "v1.2.0"}}, latest: "v1.3.0", target: younger},
		"back-port":           {version: "v1.2.9", before: []fake.Release{{Tag: "v1.3.0"}}, latest: "v1.3.0", target: younger},
		"older pre-release":   {version: "v1.2.9", before: []fake.Release{{Tag: "v1.3.0-rc.0", Prerelease: true}}, latest: "v1.2.9", target: younger},
		"marked pre-release":  {version: "v1.2.9", before: []fake.Release{{Tag: "v1.3.0", Prerelease: true}}, latest: "v1.2.9", target: younger},
		"other tags":          {version: "v1.2.9", before: []fake.Release{{Tag: "nightly"}}, latest: "v1.2.9", target: younger},
		"pre-release":         {version: "v1.3.0-rc.0", before: []fake.Release{{Tag: "v1.2.0"}}, latest: "v1.2.0", target: younger, prerelease: true},
		"commit":              {version: "v1.0.0", edit: func(o *Options) { o.Target = older }, latest: "v1.0.0", target: older},
		"branch":              {version: "v1.0.0", edit: func(o *Options) { o.Target = "main" }, latest: "v1.0.0", target: younger},
		"notes":               {version: "v1.0.0", edit: func(o *Options) { o.Notes = "News.\r\n" }, latest: "v1.0.0", target: younger, body: "News."},
		"generated notes":     {version: "v1.0.0", edit: func(o *Options) { o.GenerateNotes = true }, latest: "v1.0.0", target: younger, body: "Full Changelog"},
		"both kinds of notes": {version: "v1.0.0", edit: func(o *Options) { o.Notes, o.GenerateNotes = "News.", true }, latest: "v1.0.0", target: younger, body: "News.|Full Changelog"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, fake.Options{})
			at := h.fresh(commits)
			for _, r := range tc.before {
				given.Value(h.AddRelease("acme/"+at, r))(t)
			}
			edit := tc.edit
			if edit == nil {
				edit = func(*Options) {}
			}
			r := sample(tc.version)
			d := h.open(t, at, edit)
			put(t, d, r)
			got := h.holds(t, at, r)
			if err := d.Verify(t.Context(), r); err != nil {
				t.Error(err)
			}
			if tc.latest != "" && h.Latest("acme/"+at) != tc.latest {
				t.Errorf("the latest is %s, want %s", h.Latest("acme/"+at), tc.latest)
			}
			if got.Prerelease != tc.prerelease || got.Name != tc.version {
				t.Errorf("got %+v", got)
			}
			for _, text := range strings.Split(tc.body, "|") {
				if !strings.Contains(got.Body, text) {
					t.Errorf("%q is not in the notes %q", text, got.Body)
				}
			}
			i := slices.IndexFunc(h.Tags("acme/"+at), func(g fake.Tag) bool { return g.Name == tc.version })
			if i < 0 || h.Tags("acme/" + at)[i].SHA != tc.target {
				t.Errorf("tags %v, want %s", h.Tags("acme/"+at), tc.target)
			}
			if a, _ := got.Asset("metadata.yaml"); a.ContentType != "application/yaml" {
				t.Errorf("the type of metadata.yaml is %s", a.ContentType)
			}
		})
	}
}

// noted are the notes of a publisher who knows no commit, but for the one about that.
func noted(r publish.Result) []string {
	return phrase.Only(r.Notes, func(n string) bool {
		return !strings.HasPrefix(n, "the commit of the release is not known, so the tag v")
	})
}

// TestLatest publishes two versions at once, the lower one last. The mark is at the higher
// one when both runs have ended, and a rerun of either moves it back there, but not that of
// another version.
func TestLatest(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	for round := range share.Of(4, 20) {
		at := h.fresh(commits)
		higher := make(chan struct{})
		late := h.open(t, at, func(o *Options) {
			o.Base = publishtest.Tripper(func(req *http.Request) (*http.Response, error) {
				if round%2 == 0 && req.Method == http.MethodPatch {
					var text strings.Builder
					given.Value(io.Copy(&text, given.Value(req.GetBody())(t)))(t)
					if strings.Contains(text.String(), `"draft":false`) {
						<-higher
					}
				}
				return h.base.RoundTrip(req)
			})
		})
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := late.Put(t.Context(), sample("v1.0.0")); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			defer close(higher)
			if _, err := h.open(t, at).Put(t.Context(), sample("v1.1.0")); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		if got := h.Latest("acme/" + at); got != "v1.1.0" {
			t.Errorf("round %d: the latest is %s", round, got)
		}
		put(t, h.open(t, at), sample("v0.9.0"))
		for version, want := range map[string]string{"v0.9.0": "v1.0.0", "v1.0.0": "v1.1.0", "v1.1.0": "v1.1.0"} {
			h.mark(t, at, "v1.0.0")
			notes := put(t, h.open(t, at), sample(version)).Notes
			if said := strings.Join(notes, " "); strings.Contains(said, "v1.1.0 was not marked") != (want == "v1.1.0") {
				t.Errorf("%s again: %s", version, said)
			}
			if got := h.Latest("acme/" + at); got != want {
				t.Errorf("%s again: the latest is %s", version, got)
			}
		}
	}
}

// mark makes a release the latest one, as people do.
func (h *hub) mark(t *testing.T, at, version string) {
	r, _ := h.Published("acme/"+at, version)
	body := strings.NewReader(`{"make_latest":"true"}`)
	req := given.Value(http.NewRequest(http.MethodPatch, fmt.Sprintf("https://api.github.com/repos/acme/%s/releases/%d", at, r.ID), body))(t)
	req.Header.Set("Authorization", "Bearer "+secret)
	resp := given.Value(h.base.RoundTrip(req))(t)
	resp.Body.Close()
	if got := h.Latest("acme/" + at); got != version {
		t.Fatalf("the latest is %s", got)
	}
}

// TestRefused lists what is refused before anything is there, by Plan too.
func TestRefused(t *testing.T) {
	t.Parallel()
	many := sample("v1.0.0")
	for len(many.Artifacts) <= maxAssets {
		many.Artifacts = append(many.Artifacts, repo.BytesArtifact("f"+strings.Repeat("x", len(many.Artifacts)%200)+string(rune('a'+len(many.Artifacts)/200)), []byte("x")))
	}
	big := sample("v1.0.0")
	big.Artifacts = append(big.Artifacts, repo.NewArtifact("big.bin", "big.bin", maxSize, func() (io.ReadCloser, error) { return nil, errors.New("was opened") }))
	for name, tc := range map[string]struct {
		r      *repo.Release
		repo   func(*fake.Repository)
		token  *fake.Token
		before *fake.Release
		edit   func(*Options)
		want   string
	}{
		"no token":      {edit: func(o *Options) { o.Token, o.TokenName = "", "MY_TOKEN" }, want: "set MY_TOKEN"},
		"wrong token":   {edit: func(o *Options) { o.Token = "ghp_wrong" }, want: "wrong or has expired"},
		"expired token": {token: &fake.Token{Secret: "ghp_expired", Right: fake.Admin, Expired: true}, want: "wrong or has expired"},
		"read only":     {token: &fake.Token{Secret: "ghp_read", Right: fake.Read}, want: `"Contents: read and write"`},
		"no repository": {edit: func(o *Options) { o.Name = "missing" }, want: "does not exist, or the token in GITHUB_TOKEN may not see it"},
		"private repository": {repo: func(r *fake.Repository) { r.Private = true }, token: &fake.Token{Secret: "ghp_none"},
			want: "does not exist, or the token in GITHUB_TOKEN may not see it"},
		"archived":      {repo: func(r *fake.Repository) { r.Archived = true }, want: "archived"},
		"tag elsewhere": {repo: func(r *fake.Repository) { commits(r); r.Tags = []fake.Tag{{Name: "v1.0.0", SHA: older}} }, edit: func(o *Options) { o.Target = younger }, want: "is at the commit " + older},
		"annotated": {repo: func(r *fake.Repository) {
			commits(r)
			r.Tags = []fake.Tag{{Name: "v1.0.0", SHA: older, Annotated: true}}
		}, edit: func(o *Options) { o.Target = younger }, want: "is at the commit " + older},
		"published elsewhere": {repo: func(r *fake.Repository) { commits(r); r.Tags = []fake.Tag{{Name: "v1.0.0", SHA: older}} },
			before: &fake.Release{Tag: "v1.0.0", Assets: assets(t, sample("v1.0.0"))}, edit: func(o *Options) { o.Target = younger },
			want: "it is published, and its tag is at the commit " + older + ", not at " + younger},
		"draft of another commit": {repo: commits, before: &fake.Release{Tag: "v1.0.0", Draft: true, Target: older}, edit: func(o *Options) { o.AdoptDraft, o.Commit = true, younger },
			want: "is for " + older + ", which is at the commit " + older + ", not at " + younger},
		"unknown commit":    {edit: func(o *Options) { o.Target = older }, want: "has no commit " + older + "; push it first"},
		"foreign draft":     {before: &fake.Release{Tag: "v1.0.0", Draft: true}, want: "adopt it with --allow draft"},
		"draft and commit":  {before: &fake.Release{Tag: "v1.0.0", Draft: true}, edit: func(o *Options) { o.Target = older }, want: "adopt it with --allow draft"},
		"empty file":        {r: files("v1.0.0", "metadata.yaml", ""), want: "is empty"},
		"too many files":    {r: many, want: "at most 1000"},
		"too big":           {r: big, want: "accepts less than"},
		"two dots":          {r: files("v1.0.0", "a..b", "x"), want: "two dots in a row"},
		"name":              {r: files("v1.0.0", "a b", "x"), want: "file name"},
		"published already": {before: &fake.Release{Tag: "v1.0.0", Assets: []fake.Asset{{Name: "metadata.yaml", Data: []byte("x")}}}, want: "changed metadata.yaml"},
		"published in part": {before: &fake.Release{Tag: "v1.0.0", Assets: []fake.Asset{{Name: "metadata.yaml", Data: []byte("v1.0.0")}}}, want: "allow completion with --allow completion"},
		"published in part, but immutable": {before: &fake.Release{Tag: "v1.0.0", Immutable: true, Assets: []fake.Asset{{Name: "metadata.yaml", Data: []byte("v1.0.0")}}},
			edit: func(o *Options) { o.Complete = true }, want: "under a new version"},
		"two foreign drafts": {before: &fake.Release{Tag: "v1.0.0", Draft: true, Name: "twice"}, edit: func(o *Options) { o.AdoptDraft = true }, want: "delete all but one"},
		"foreign draft with more": {before: &fake.Release{Tag: "v1.0.0", Draft: true, Assets: []fake.Asset{{Name: "tool.exe", Data: []byte("MZ")}}},
			edit: func(o *Options) { o.AdoptDraft = true }, want: "tool.exe"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, fake.Options{})
			edits := []func(*fake.Repository){}
			if tc.repo != nil {
				edits = append(edits, tc.repo)
			}
			at := h.fresh(edits...)
			options := []func(*Options){}
			if tc.token != nil {
				h.AddToken(*tc.token)
				options = append(options, func(o *Options) { o.Token = tc.token.Secret })
			}
			if tc.edit != nil {
				options = append(options, tc.edit)
			}
			if tc.before != nil {
				for range map[bool]int{false: 1, true: 2}[tc.before.Name == "twice"] {
					given.Value(h.AddRelease("acme/"+at, *tc.before))(t)
				}
			}
			r := tc.r
			if r == nil {
				r = sample("v1.0.0")
			}
			d := h.open(t, at, options...)
			_, planErr := d.Plan(t.Context(), r)
			_, err := d.Put(t.Context(), r)
			for _, err := range []error{planErr, err} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %s", err, tc.want)
				}
				clean(t, cmp.Or(d.opt.Token, secret), err)
			}
			for _, e := range h.Faults.Log() {
				if e.Method != http.MethodGet {
					t.Errorf("request %s", e)
				}
			}
		})
	}
}

// TestPublishedFor: a branch moves on after its head was published, a tag does not.
func TestPublishedFor(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	for target, same := range map[string]bool{"main": true, "v1.0.0": true, older: true, "v2.0.0": false, younger: false} {
		at := h.fresh(commits, func(r *fake.Repository) {
			r.Tags = []fake.Tag{{Name: "v1.0.0", SHA: older}, {Name: "v2.0.0", SHA: younger}}
		})
		given.Value(h.AddRelease("acme/"+at, fake.Release{Tag: "v1.0.0", Assets: assets(t, sample("v1.0.0"))}))(t)
		_, err := h.open(t, at, func(o *Options) { o.Target = target }).Put(t.Context(), sample("v1.0.0"))
		if (err == nil) != same {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestDrafts begins with what other runs and other people left.
func TestDrafts(t *testing.T) {
	t.Parallel()
	r := sample("v1.0.0")
	mine := marker{version: "v1.0.0", plan: planOf(t, r), tool: "tool/v0"}
	full := assets(t, r)
	wrong := slices.Clone(full)
	wrong[0].Data, wrong[1].State, wrong[2].Data = bytes.Repeat([]byte("x"), len(wrong[0].Data)), fake.Starter, []byte("shorter")
	for name, tc := range map[string]struct {
		drafts  []fake.Release
		edit    func(*Options)
		uploads int
		// id is the position of the draft that is published, -1 for a new one;
		// left are those that stay.
		id   int
		left int
		body string
		// target is the commit of the tag, if not younger.
		target string
	}{
		"for a commit":         {drafts: []fake.Release{{Target: older}}, edit: func(o *Options) { o.AdoptDraft = true }, uploads: 4, target: older},
		"for a commit, known":  {drafts: []fake.Release{{Target: older}}, edit: func(o *Options) { o.AdoptDraft, o.Commit = true, older }, uploads: 4, target: older},
		"for another commit":   {drafts: []fake.Release{{Target: older}}, edit: func(o *Options) { o.AdoptDraft, o.Target = true, younger }, uploads: 4},
		"for the usual branch": {drafts: []fake.Release{{Target: "refs/heads/main"}}, edit: func(o *Options) { o.AdoptDraft, o.Commit = true, older }, uploads: 4, target: older},
		"adopted before":       {drafts: []fake.Release{{Body: marker{version: "v1.0.0", plan: mine.plan, tool: "t", commit: older}.String(), Target: older}}, uploads: 4, target: older},
		"empty":                {drafts: []fake.Release{{Body: mine.String()}}, uploads: 4},
		"half":                 {drafts: []fake.Release{{Body: mine.String(), Assets: full[:2]}}, uploads: 2},
		"whole":                {drafts: []fake.Release{{Body: mine.String(), Assets: full}}},
		"wrong":                {drafts: []fake.Release{{Body: mine.String(), Assets: wrong}}, uploads: 3},
		"extra":                {drafts: []fake.Release{{Body: mine.String(), Assets: append(slices.Clone(full), fake.Asset{Name: "old.yaml", Data: []byte("x")})}}},
		"untagged":             {drafts: []fake.Release{{Tag: "untagged-1234", Body: mine.String(), Assets: full}}},
		"edited":               {drafts: []fake.Release{{Body: "By hand.\r\n\r\n" + mine.String() + "\r\n", Assets: full}}, body: "By hand."},
		"two":                  {drafts: []fake.Release{{Body: mine.String()}, {Body: mine.String(), Assets: full}}, uploads: 4},
		"other plan":           {drafts: []fake.Release{{Body: marker{version: "v1.0.0", plan: "x"}.String(), Assets: full}}, uploads: 4, id: -1},
		"other version": {drafts: []fake.Release{{Tag: "v1.1.0", Body: marker{version: "v1.1.0", plan: "x"}.String()}}, uploads: 4, id: -1,
			left: 1},
		"marker of another version": {drafts: []fake.Release{{Tag: "v1.1.0", Body: mine.String()}}, uploads: 4, id: -1, left: 1},
		"copied text":               {drafts: []fake.Release{{Body: marker{version: "v0.9.0", plan: mine.plan, tool: "t", commit: older}.String()}}, edit: func(o *Options) { o.AdoptDraft = true }, uploads: 4},
		"foreign":                   {drafts: []fake.Release{{Body: "By hand.", Name: "One", Assets: full[:1]}}, edit: func(o *Options) { o.AdoptDraft = true }, uploads: 3, body: "By hand."},
		"foreign with new notes": {drafts: []fake.Release{{Body: "By hand."}}, edit: func(o *Options) { o.AdoptDraft, o.Notes = true, "News." },
			uploads: 4, body: "News."},
		"of another, without a tag": {drafts: []fake.Release{{Tag: "untagged-1234", Body: "By hand."}}, uploads: 4, id: -1, left: 1},
		"own before foreign":        {drafts: []fake.Release{{Body: "By hand."}, {Body: mine.String(), Assets: full}}, id: 1, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, fake.Options{})
			at := h.fresh(commits)
			var ids []int64
			for _, d := range tc.drafts {
				if d.Draft = true; d.Tag == "" {
					d.Tag = "v1.0.0"
				}
				id := given.Value(h.AddRelease("acme/"+at, d))(t)
				ids = append(ids, id)
			}
			edit := tc.edit
			if edit == nil {
				edit = func(*Options) {}
			}
			d := h.open(t, at, edit)
			if _, err := d.Plan(t.Context(), r); err != nil {
				t.Error(err)
			}
			if got := put(t, d, r); got.Unchanged || len(noted(got)) > 0 {
				t.Errorf("got %+v", got)
			}
			if tag := h.Tags("acme/" + at)[0]; tag.SHA != cmp.Or(tc.target, younger) {
				t.Errorf("the tag is %+v", tag)
			}
			got, _ := h.Published("acme/"+at, "v1.0.0")
			if err := h.equal(got, r); err != nil {
				t.Error(err)
			}
			if left := len(h.Drafts("acme/" + at)); left != tc.left {
				t.Errorf("%d drafts are left, want %d", left, tc.left)
			}
			if tc.id >= 0 && got.ID != ids[tc.id] || tc.id < 0 && slices.Contains(ids, got.ID) {
				t.Errorf("published the draft %d of %v", got.ID, ids)
			}
			if !strings.Contains(got.Body, tc.body) || strings.Count(got.Body, markerStart) != 1 {
				t.Errorf("the text is %q", got.Body)
			}
			uploads := 0
			for _, e := range h.Faults.Log() {
				if e.Step == "upload-asset" {
					uploads++
				}
			}
			if uploads != tc.uploads {
				t.Errorf("%d uploads, want %d", uploads, tc.uploads)
			}
		})
	}
}

// TestDraftOfAnother: another publisher publishes a draft under another tag just before this run
// would discard it.
func TestDraftOfAnother(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh()
	other := marker{version: "v1.0.0", plan: "x"}.String()
	id := given.Value(h.AddRelease("acme/"+at, fake.Release{Tag: "v1.0.0", Draft: true, Body: other}))(t)
	d, place, tag := h.open(t, at), fmt.Sprintf("releases/%d", id), "v2.0.0"
	var once sync.Once
	h.Faults.Add(rule("get-release", 1, -1, fault.Fault{Name: "publish", Call: func() {
		if _, mine := h.Published("acme/"+at, "v1.0.0"); mine {
			once.Do(func() {
				edit := sdk.RepositoryRelease{TagName: &tag, Draft: new(false)}
				if _, err := d.call(t.Context(), http.MethodPatch, place, edit, nil); err != nil {
					t.Error(err)
				}
			})
		}
	}}))
	put(t, d, sample("v1.0.0"))
	if _, there := h.Published("acme/"+at, tag); !there {
		t.Error("the release of another publisher was deleted")
	}
}

func planOf(t testing.TB, r *repo.Release) string {
	t.Helper()
	h := start(t, fake.Options{})
	j := given.Value(h.open(t, h.fresh()).prepare(t.Context(), r))(t)
	return j.mark.plan
}

// TestComplete finishes half a release on request, and its own without.
func TestComplete(t *testing.T) {
	t.Parallel()
	r := sample("v1.0.0")
	plan := planOf(t, r)
	half := append(assets(t, r)[:2], fake.Asset{Name: "metadata.yaml", State: fake.Starter})
	for name, tc := range map[string]struct {
		body     string
		complete bool
	}{
		"asked":    {"By hand.", true},
		"own plan": {marker{version: "v1.0.0", plan: plan}.String(), false},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, fake.Options{})
			at := h.fresh()
			given.Value(h.AddRelease("acme/"+at, fake.Release{Tag: "v1.0.0", Body: tc.body, Assets: half}))(t)
			d := h.open(t, at, func(o *Options) { o.Complete = tc.complete })
			if got := put(t, d, r); got.Unchanged {
				t.Error("nothing was completed")
			}
			if got := h.holds(t, at, r); got.Body != tc.body {
				t.Errorf("the text is %q", got.Body)
			}
		})
	}
}

// TestImmutable publishes into a repository whose releases cannot change.
func TestImmutable(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh(func(r *fake.Repository) { r.Immutable = true })
	d, r := h.open(t, at), sample("v1.0.0")
	plan, err := d.Plan(t.Context(), r)
	if err != nil || !strings.Contains(strings.Join(plan.Notes, ""), "can never be replaced") {
		t.Errorf("plan %+v, %v", plan, err)
	}
	put(t, d, r)
	if got := put(t, d, r); !got.Unchanged {
		t.Error("published twice")
	}
	if got := h.holds(t, at, r); !got.Immutable {
		t.Error("the release can change")
	}
	// Its tag cannot be used again, even after it is gone.
	release, _ := h.Published("acme/"+at, "v1.0.0")
	h.RemoveRelease("acme/"+at, release.ID)
	if _, err := d.Put(t.Context(), r); err == nil || !strings.Contains(err.Error(), "immutable release") {
		t.Errorf("got %v", err)
	}
	if _, visible := h.Published("acme/"+at, "v1.0.0"); visible || len(h.Tags("acme/"+at)) != 1 {
		t.Errorf("visible: %t, tags %v", visible, h.Tags("acme/"+at))
	}
}

// TestInstallationToken is that of a workflow run, of which GitHub says that it
// may not push.
func TestInstallationToken(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh()
	h.AddToken(fake.Token{Secret: "ghs_run", Kind: fake.Actions, Right: fake.Write})
	h.AddToken(fake.Token{Secret: "ghs_weak", Kind: fake.Actions, Right: fake.Read})
	pushless := func(o *Options) { o.Base = replacing{h.base, `"push":true`, `"push":false`} }
	r := sample("v1.0.0")
	weak := h.open(t, at, pushless, func(o *Options) { o.Token = "ghs_weak" })
	if _, err := weak.Put(t.Context(), r); err == nil || !strings.Contains(err.Error(), "contents: write") {
		t.Errorf("got %v", err)
	}
	put(t, h.open(t, at, pushless, func(o *Options) { o.Token = "ghs_run" }), r)
	h.holds(t, at, r)
}

type replacing struct {
	http.RoundTripper
	old, new string
}

func (x replacing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := x.RoundTripper.RoundTrip(req)
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		data, readErr := io.ReadAll(resp.Body)
		resp.Body.Close()
		data = bytes.ReplaceAll(data, []byte(x.old), []byte(x.new))
		resp.Body, resp.ContentLength, err = io.NopCloser(bytes.NewReader(data)), int64(len(data)), readErr
	}
	return resp, err
}

// TestWorkflowRight: the commit changes workflow files.
func TestWorkflowRight(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh(func(r *fake.Repository) { r.Commits = []fake.Commit{{SHA: older, Workflows: true}} })
	h.AddToken(fake.Token{Secret: "ghp_none", Right: fake.Write})
	d := h.open(t, at, func(o *Options) { o.Token = "ghp_none" })
	if _, err := d.Put(t.Context(), sample("v1.0.0")); err == nil || !strings.Contains(err.Error(), `"Workflows"`) {
		t.Errorf("got %v", err)
	}
	if log := h.Faults.Log(); len(slices.DeleteFunc(log, func(e entry) bool { return e.Step != "create-release" })) != 1 {
		t.Error("a missing right is not the end")
	}
	put(t, h.open(t, at), sample("v1.0.0"))
}

// TestProtectedTag: GitHub refuses at the last step.
func TestProtectedTag(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh(func(r *fake.Repository) { r.ProtectedTags = []string{"v1.0.0"} })
	_, err := h.open(t, at).Put(t.Context(), sample("v1.0.0"))
	if err == nil || !strings.Contains(err.Error(), "creations being restricted") {
		t.Errorf("got %v", err)
	}
	if _, ok := h.Published("acme/"+at, "v1.0.0"); ok {
		t.Error("it is published")
	}
}

// TestTagOfAnother: somebody pushes the tag to another commit at every request of
// the publication. What is then visible is not what was asked for, and no run, not
// even a later one, says that all is well.
func TestTagOfAnother(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	late := 0
	put(t, h.open(t, h.fresh()), sample("v1.0.0"))
	for i, p := range h.Faults.Log() {
		at, r := h.fresh(commits), sample("v1.0.0")
		h.Faults.Reset()
		var once sync.Once
		h.Faults.Add(fault.Rule{Nth: i + 1, Fault: fault.Fault{Name: "tag", Call: func() {
			once.Do(func() {
				if len(h.Tags("acme/"+at)) == 0 {
					h.AddTag("acme/"+at, fake.Tag{Name: "v1.0.0", SHA: older})
				}
			})
		}}})
		target := func(o *Options) { o.Target = younger }
		_, err := h.open(t, at, target).Put(t.Context(), r)
		tag := h.Tags("acme/" + at)
		_, published := h.Published("acme/"+at, "v1.0.0")
		if good := len(tag) == 1 && tag[0].SHA == younger; good != (err == nil) {
			t.Errorf("at %v: the tags are %v, but: %v", p, tag, err)
		} else if good {
			continue
		}
		if published {
			late++
		}
		for name, d := range map[string]*Repository{"the same command": h.open(t, at, target), "without a target": h.open(t, at)} {
			if _, err := d.Put(t.Context(), r); published && (err == nil || !strings.Contains(err.Error(), older)) {
				t.Errorf("at %v: %s: %v", p, name, err)
			}
			if _, err := d.Plan(t.Context(), r); published && err == nil {
				t.Errorf("at %v: a dry run of %s accepts it", p, name)
			}
		}
	}
	if late == 0 {
		t.Error("the tag never came at the last moment")
	}
}

// TestPages goes beyond one page of releases and of assets.
func TestPages(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh()
	for range 3 {
		for range 80 {
			given.Value(h.AddRelease("acme/"+at, fake.Release{Tag: "nightly", Draft: true}))(t)
		}
		given.Value(h.AddRelease("acme/"+at, fake.Release{Tag: "v9.0." + string(rune('0'+len(h.Tags("acme/"+at))))}))(t)
	}
	r := sample("v1.0.0")
	for i := range 250 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact("file-"+strings.Repeat("x", i)+".txt", []byte("x")))
	}
	r.Artifacts = r.Artifacts[:200]
	r.Sort()
	d := h.open(t, at)
	if versions, err := d.Versions(t.Context()); err != nil || len(versions) != 3 {
		t.Errorf("versions %v, %v", versions, err)
	}
	put(t, d, r)
	h.holds(t, at, r)
	if h.Latest("acme/"+at) != "v9.0.2" {
		t.Errorf("latest %s", h.Latest("acme/"+at))
	}
	given.NoError(t, d.Verify(t.Context(), r))
	if peak := h.Faults.Peak(); peak > wide {
		t.Errorf("%d requests at a time", peak)
	}
}

// TestVerifyWaits: a cache does not know the release yet.
func TestVerifyWaits(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh()
	d, r := h.open(t, at), sample("v1.0.0")
	put(t, d, r)
	h.Faults.Add(rule("download", 1, 3, faultStatus(http.StatusNotFound)))
	given.NoError(t, d.Verify(t.Context(), r))
	h.Faults.Add(rule("download", 1, -1, faultStatus(http.StatusNotFound)))
	if err := d.Verify(t.Context(), r); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"default":    {Options{}, "https://github.com https://api.github.com"},
		"enterprise": {Options{ServerURL: "https://git.example.com/"}, "https://git.example.com https://git.example.com/api/v3"},
		"tenant":     {Options{ServerURL: "https://acme.ghe.com"}, "https://acme.ghe.com https://api.acme.ghe.com"},
		"explicit":   {Options{ServerURL: "https://a", APIURL: "https://b/api/v3/"}, "https://a https://b/api/v3"},
		"owner":      {Options{Owner: "a/b"}, "is not a GitHub repository"},
		"dots":       {Options{Name: ".."}, "is not a GitHub repository"},
		"server":     {Options{ServerURL: "git.example.com"}, "must have the form"},
		"password":   {Options{ServerURL: "https://u:" + secret + "@git.example.com"}, "must have the form"},
		"open":       {Options{ServerURL: "http://git.example.com", Token: secret}, "does not use encryption"},
		"loopback":   {Options{ServerURL: "http://127.0.0.1:8080", Token: secret}, "http://127.0.0.1:8080 http://127.0.0.1:8080/api/v3"},
		"notes":      {Options{Notes: strings.Repeat("ä", maxNotes+1)}, "shorten them"},
	} {
		if tc.o.Owner == "" {
			tc.o.Owner = "acme"
		}
		if tc.o.Name == "" {
			tc.o.Name = "provider"
		}
		d, err := New(tc.o)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = d.opt.ServerURL + " " + d.opt.APIURL
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
		clean(t, secret, got)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	d := given.Value(New(Options{Owner: "acme", Name: "provider"}))(t)
	e := given.Value(New(Options{Owner: "acme", Name: "provider", ServerURL: "https://git.example.com"}))(t)
	for _, tc := range []struct {
		d                   *Repository
		version, file, want string
	}{
		{d, "v1.0.0", "infrastructure-components.yaml", "https://github.com/acme/provider/releases/v1.0.0/infrastructure-components.yaml"},
		{d, layouts.Latest, "core-components.yaml", "https://github.com/acme/provider/releases/latest/core-components.yaml"},
		{e, "v1.0.0", "core-components.yaml", "https://git.example.com/acme/provider/releases/v1.0.0/core-components.yaml"},
		{d, "1.0", "core-components.yaml", ""},
		{d, "v1.0.0", "a/b", ""},
	} {
		got, err := tc.d.URL(tc.version, tc.file)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("got %s, %v, want %s", got, err, tc.want)
		}
		if err == nil && tc.d == d {
			l, err := layouts.ParseProviderURL(got, foo)
			if err != nil || l.Version != tc.version || l.File != tc.file {
				t.Errorf("clusterctl reads %+v, %v", l, err)
			}
		}
	}
	clean(t, secret, d.String())
}

func TestMarker(t *testing.T) {
	t.Parallel()
	for _, m := range []marker{{"v1.0.0", strings.Repeat("a", 64), "tool/v1", ""}, {"v1.0.0", strings.Repeat("a", 64), "tool at home/v1", older}} {
		for _, text := range []string{"", "News.", "News.\n\n", "<!-- other -->", m.String(), "a\r\n" + marker{"v2", "b", "c", "d"}.String() + "\r\nz"} {
			marked := m.marked(text)
			if got, ok := findMarker(marked); !ok || got != m {
				t.Errorf("%q: got %+v", marked, got)
			}
			if m.marked(marked) != marked {
				t.Errorf("%q is marked twice", marked)
			}
		}
	}
	for _, text := range []string{"", markerStart, markerStart + markerEnd, markerStart + "v1 plan x" + markerEnd, "v1 plan x by y"} {
		if m, ok := findMarker(text); ok {
			t.Errorf("%q: got %+v", text, m)
		}
	}
}

// A server that is reached only through its API: uploads have a port of their
// own, and nothing goes to the address for people.
func TestAPIElsewhere(t *testing.T) {
	s := fake.Start(t, fake.Options{})
	s.AddToken(fake.Token{Secret: secret, Right: fake.Write})
	s.AddRepository(fake.Repository{Owner: "acme", Name: "provider"})
	open := func(upload string) *Repository {
		d, err := New(Options{Owner: "acme", Name: "provider", Token: secret, APIURL: s.APIURL(), Base: rewritten{upload}})
		given.NoError(t, err)
		return d
	}
	r := sample("v1.0.0")
	h := start(t, fake.Options{})
	at := func(upload string) *Repository {
		return h.open(t, h.fresh(), func(o *Options) { o.Base = replacing{h.base, "https://uploads.github.com/", upload} })
	}
	for want, d := range map[string]*Repository{
		"requires uploads to 192.0.2.1, but the token":           open("http://192.0.2.1/"),
		"requires uploads to api.github.com:8443, but the token": at("https://api.github.com:8443/"),
		"POST uploads.github.com would not be encrypted":         at("http://uploads.github.com/"),
	} {
		if _, err := d.Put(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	d := open(s.UploadURL())
	given.Value(d.Put(t.Context(), r))(t)
	given.NoError(t, d.Verify(t.Context(), r))
	if leaks := s.Leaks(); leaks != nil {
		t.Errorf("the storage got to see credentials: %v", leaks)
	}
}

// rewritten lets the answers of a server name another address for uploads, and
// reaches nothing but this machine.
type rewritten struct{ upload string }

func (w rewritten) RoundTrip(req *http.Request) (*http.Response, error) {
	if host := req.URL.Hostname(); host != "127.0.0.1" && host != "localhost" {
		return nil, fmt.Errorf("a request to %s", host)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		return resp, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	data = regexp.MustCompile(`"upload_url": ?"https?://[^/]*/`).ReplaceAll(data, []byte(`"upload_url":"`+w.upload))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return resp, nil
}
