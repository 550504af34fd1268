package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// delivery is how releases are published: the flags that publish, release and
// mirror share.
type delivery struct {
	to       []string
	dryRun   bool
	receipt  string
	receipts []receipt
	// notes is the file of --notes-file.
	notes string
	// brokenLatest publishes although clusterctl cannot resolve "latest" then.
	brokenLatest bool
	waiting
	attestation
	open.Options
}

// receipt is an entry in the file of --record.
type receipt struct {
	Providers []string `json:"providers" doc:"the labels of the providers in the release"`
	publish.Receipt
}

// recordDocument is what --record writes.
var recordDocument = report.Document{Kind: "record", Version: 1, Body: recordBody{}, Title: "what was published where"}

type recordBody struct {
	Releases []receipt `json:"releases" doc:"an entry for each release and place that it was published to"`
}

func (d *delivery) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&d.to, "to", nil, "where to publish; may be repeated")
	f.BoolVar(&d.dryRun, "dry-run", false, "look at everything, and only say what would be published")
	f.StringVar(&d.receipt, "record", "", "write what was published where, with checksums, to this `file` as JSON; - is standard output")
	f.DurationVar(&d.waiting.maxWait, "max-wait", 15*time.Minute, "how long to wait at most when a server limits the rate of requests")
	d.attestation.flag(cmd)
	f.StringVar(&d.Target, "target", "", "GitHub, and --gitlab-release: the `commit` of the tag, if the tag does not exist yet; HEAD of the source, GITHUB_SHA or CI_COMMIT_SHA where they fit")
	f.StringVar(&d.notes, "notes-file", "", "GitHub and GitLab: the text of the release is in this `file`")
	f.BoolVar(&d.GenerateNotes, "generate-notes", false, "GitHub: let GitHub write the text of the release")
	f.BoolVar(&d.AdoptDraft, "adopt-draft", false, "finish what another run began and left: a draft on GitHub, a claim for other content elsewhere; only if that run has ended")
	f.BoolVar(&d.Complete, "complete", false, "GitHub: add files to a published release that lacks nothing but files")
	f.BoolVar(&d.AllowUnreadable, "allow-unreadable", false, "GitLab: publish also where clusterctl does not look, such as a host whose name does not begin with gitlab.")
	f.BoolVar(&d.brokenLatest, "allow-broken-latest", false, "publish even if clusterctl can then no longer resolve \"latest\", because the release of a listed series is missing")
	f.StringVar(&d.OCIFormat, "oci-format", open.OCIFiles, "oci://: files, a layer for each file as Cluster API Operator reads it, or archive, the proposed form of Cluster API")
	f.BoolVar(&d.GitLabRelease, "gitlab-release", false, "GitLab: also make a release that links to the files")
}

// decorated wraps the destinations of a site as the flags say.
func (a *app) decorated(s publish.Site, d *delivery) publish.Site {
	if d.dryRun {
		return s.With(publish.DryRun)
	}
	return s.With(
		publish.Watch(func(p publish.Progress) { a.progress.Show(p.Release, p.Read, p.Total) }),
		publish.Record(func(r publish.Receipt) error {
			d.receipts = append(d.receipts, receipt{Receipt: r})
			return nil
		}),
	)
}

// checkRecord refuses a file of --record that could not be written in the end.
func (d *delivery) checkRecord(a *app) error {
	if d.receipt == "" || d.receipt == "-" {
		return nil
	}
	name := a.path(d.receipt)
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return usagef("--record %s: there is no folder %s", d.receipt, filepath.Dir(d.receipt))
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return usagef("--record %s: it is a folder", d.receipt)
	}
	return nil
}

// writeRecord writes the file of --record. Failures say what was not published.
func (d *delivery) writeRecord(a *app, failures ...error) error {
	if d.receipt == "" || d.dryRun {
		return nil
	}
	var data bytes.Buffer
	if err := recordDocument.Write(&data, failures, recordBody{append([]receipt{}, d.receipts...)}); err != nil {
		return err
	}
	if d.receipt == "-" {
		_, err := term.NewWriter(a.Out, term.JSON).Write(data.Bytes())
		return err
	}
	if err := a.writeOutput(d.receipt, data.Bytes()); err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	return nil
}
