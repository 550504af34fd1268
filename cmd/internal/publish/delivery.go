package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

// delivery is how releases are published: the flags that publish and release share.
type delivery struct {
	to       []string
	dryRun   bool
	receipt  string
	receipts []receipt
	notes    string
	// brokenLatest publishes although clusterctl cannot resolve "latest" then.
	brokenLatest bool
	key          targets.Key
	open.Options
}

// receipt is an entry in the file of --receipt.
type receipt struct {
	Providers []string      `json:"providers" doc:"the labels of the providers in the release"`
	Version   string        `json:"version" doc:"the version of the release"`
	To        string        `json:"to" doc:"the place, in the form that the flag --to accepts"`
	Where     string        `json:"where" doc:"where the release is now: a URL or a path"`
	Unchanged bool          `json:"unchanged" doc:"the place already had the same release"`
	Digest    string        `json:"digest,omitempty" doc:"the digest of the manifest in a registry; absent elsewhere"`
	Files     []receiptFile `json:"files" doc:"the files of the release"`
	Notes     []string      `json:"notes,omitempty" doc:"what the user should know; absent if there is nothing"`
}

type receiptFile struct {
	Name   string `json:"name" doc:"the name of the file"`
	Size   int64  `json:"size" doc:"the size in bytes"`
	SHA256 string `json:"sha256" doc:"the SHA-256 checksum in hexadecimal digits"`
}

// ReceiptDocument is what --receipt writes.
var ReceiptDocument = report.Document{Kind: "record", Version: 1, Body: receiptBody{}, Title: "what was published where"}

type receiptBody struct {
	Releases []receipt `json:"releases" doc:"an entry for each release and place that it was published to"`
}

func (d *delivery) bind(f *pflag.FlagSet) {
	f.StringArrayVar(&d.to, "to", nil, "") // a comma belongs to the name, as in mirror --to
	f.BoolVar(&d.dryRun, "dry-run", false, "")
	f.StringVar(&d.receipt, "receipt", "", "")
	d.key.Bind(f)
	f.StringVar(&d.Target, "commit", "", "")
	f.StringVar(&d.notes, "notes-file", "", "")
	f.BoolVar(&d.GenerateNotes, "generate-notes", false, "")
	cli.Allow(f, "draft", &d.AdoptDraft)
	cli.Allow(f, "completion", &d.Complete)
	cli.Allow(f, "unreadable", &d.AllowUnreadable)
	cli.Allow(f, "broken-latest", &d.brokenLatest)
}

func (d *delivery) site(env *cli.Env, name string) (publish.Site, error) {
	o := d.Options
	if d.notes != "" {
		data, err := env.ReadFile(d.notes)
		if err != nil {
			return publish.Site{}, cli.Usagef("--notes-file: %w", err)
		}
		o.Notes = string(data)
	}
	site, err := targets.Site(env, name, o)
	if err == nil {
		err = targets.NotMirror(env, name)
	}
	return site, err
}

// record takes note of what was published and read back.
func (d *delivery) record(ctx context.Context, p publish.Parcel, result publish.Result) error {
	out := receipt{
		Version: p.Release.Version, To: p.To.String(), Where: result.Where, Unchanged: result.Unchanged, Digest: result.Digest, Notes: result.Notes,
		Providers: phrase.List(p.From, func(r *repo.Release) string { return r.Provider.Label() }), Files: []receiptFile{},
	}
	for _, a := range p.Release.Artifacts {
		sum, err := a.Digest(ctx)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, receiptFile{a.Name, a.Size, sum.String()})
	}
	d.receipts = append(d.receipts, out)
	return nil
}

// writeReceipt writes the file of --receipt. Failures say what was not published.
func (d *delivery) writeReceipt(env *cli.Env, failures ...error) error {
	if d.receipt == "" || d.dryRun {
		return nil
	}
	var data bytes.Buffer
	if err := ReceiptDocument.Write(&data, failures, receiptBody{append([]receipt{}, d.receipts...)}); err != nil {
		return err
	}
	if d.receipt == "-" {
		return env.WriteJSON(data.Bytes())
	}
	if err := env.WriteOutput(d.receipt, data.Bytes()); err != nil {
		return fmt.Errorf("--receipt: %w", err)
	}
	return nil
}

// fail writes the record of a run that could not do its job, and returns why.
func (d *delivery) fail(env *cli.Env, err error) error {
	if code, known := cli.Code(err); known && code != cli.ExitFailed {
		return err
	}
	return errors.Join(err, d.writeReceipt(env, err))
}

// step is what goes to one site.
type step struct {
	site     publish.Site
	releases []*repo.Release
}

// deliver publishes releases and reads them back. All are checked before the
// first one is written.
func (d *delivery) deliver(ctx context.Context, env *cli.Env, steps []step) error {
	if err := d.key.Load(env); err != nil {
		return err
	}
	var parcels []publish.Parcel
	for _, s := range steps {
		for _, r := range s.releases {
			if r.Components() == nil && r.Artifact(layouts.MetadataFile) == nil {
				return cli.Usagef("%s %s has neither components nor %s, so clusterctl could not use it; nothing was published", r.Provider.Label(), r.Version, layouts.MetadataFile)
			}
			if !strings.HasPrefix(r.Version, "v") {
				return cli.Usagef("%s %s: clusterctl would treat this as the latest version, but then not find v%[2]s; publish it as v%[2]s", r.Provider.Label(), r.Version)
			}
		}
		site := s.site.Watch(func(p publish.Progress) { env.Progress.Show(p.Release, p.Read, p.Total) })
		add, err := site.Parcels(ctx, s.releases)
		if err != nil {
			return err
		}
		if d.key.Private != nil {
			for i, p := range add {
				in := phrase.List(p.From, func(r *repo.Release) layouts.Provider { return r.Provider })
				if add[i].Release, err = sign.Release(ctx, p.Release, d.key.Private, in...); err != nil {
					return err
				}
			}
		}
		parcels = append(parcels, add...)
	}
	if err := d.checkLatest(ctx, env, parcels); err != nil {
		return err
	}
	if !d.dryRun && len(parcels) > 1 {
		// What the last place would refuse is known before the first gets anything.
		for _, p := range parcels {
			if _, err := p.To.Plan(ctx, p.Release); err != nil {
				return fmt.Errorf("%w; nothing was published", err)
			}
		}
	}
	for i, p := range parcels {
		result, err := p.Publish(ctx, d.dryRun)
		if err == nil && !d.dryRun {
			err = d.record(ctx, p, result)
		}
		env.Progress.Done()
		if err != nil {
			failures := []error{err}
			left := len(parcels) - i - 1
			if left > 0 {
				failures = append(failures, fmt.Errorf("%d further releases were not started", left))
			}
			if left > 0 && ctx.Err() == nil {
				env.Say("%d further releases were not started; the same command continues from here", left)
			}
			return errors.Join(err, d.writeReceipt(env, failures...))
		}
		for _, r := range p.From {
			switch name := r.Provider.Label() + " " + r.Version; {
			case d.dryRun && result.Unchanged:
				env.Say("would leave alone %s in %s", name, p.To)
			case d.dryRun:
				env.Say("would publish %s in %s", name, p.To)
			case result.Unchanged:
				env.Say("already published: %s at %s", name, result.Where)
			default:
				env.Say("%s %s at %s", env.Style.Green("published"), name, result.Where)
			}
		}
		for _, step := range result.Steps {
			env.Say("  %s", step)
		}
		for _, note := range result.Notes {
			env.Say("info: %s", note)
		}
	}
	return d.writeReceipt(env)
}

// checkLatest refuses what would leave a repository in which clusterctl can no
// longer resolve "latest".
func (d *delivery) checkLatest(ctx context.Context, env *cli.Env, parcels []publish.Parcel) error {
	broken, err := publish.CheckLatest(ctx, parcels)
	if err != nil {
		return err
	}
	for _, b := range broken {
		if !b.Before && !d.brokenLatest {
			hint := "correct metadata.yaml, or allow it with --allow broken-latest"
			if errors.Is(b, metadata.ErrNoVersion) {
				hint = "metadata.yaml lists a release series that has no release: publish that release first, remove the series, or allow it with --allow broken-latest"
			}
			return fmt.Errorf("%w; nothing was published.\n%s", b, hint)
		}
		env.Warn("%v", b)
	}
	return nil
}
