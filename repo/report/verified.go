package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// ReadMovePlan reads a plan that WriteMovePlans wrote as JSON. It fails on other
// files and on versions that it does not know.
func ReadMovePlan(in io.Reader) ([]owners.Expected, error) {
	var file struct {
		SchemaVersion int         `json:"schemaVersion"`
		Objects       *[]jsonMove `json:"objects"`
	}
	if err := json.NewDecoder(in).Decode(&file); err != nil {
		return nil, fmt.Errorf("not a plan in JSON: %w", err)
	}
	switch {
	case file.Objects == nil:
		return nil, errors.New("not a plan: the list objects is missing; make one with move-plan -o json=FILE")
	case file.SchemaVersion < 1 || file.SchemaVersion > documentOf("move-plan").Version:
		return nil, fmt.Errorf("unsupported schemaVersion %d (supported: 1 to %d)",
			file.SchemaVersion, documentOf("move-plan").Version)
	}
	out := make([]owners.Expected, 0, len(*file.Objects))
	for _, o := range *file.Objects {
		if o.File != "" {
			return nil, errors.New("this is a plan for templates, which are not moved; make one for a management cluster")
		}
		out = append(out, owners.Expected{ID: o.ID, Verdict: o.Verdict, Owners: o.Owners})
	}
	return out, nil
}

// Verified is what came of comparing a plan with what arrived.
type Verified struct {
	// Target names the cluster.
	Target     string
	Plan       []owners.Expected
	Deviations []owners.Deviation
	Problems   []error
}

type verifiedBody struct {
	Expected   int                `json:"expected" doc:"how many objects should have arrived"`
	Deviations []owners.Deviation `json:"deviations" doc:"what differs from the plan; empty if all arrived"`
	Problems   []string           `json:"problems" doc:"what could not be read; the same as failures"`
}

// WriteVerified prints it as text or JSON.
func WriteVerified(w io.Writer, format string, v Verified, paint painter) error {
	expected := 0
	for _, e := range v.Plan {
		if e.Verdict == owners.Moves.String() || e.Verdict == owners.Copied.String() {
			expected++
		}
	}
	if format == "json" {
		body := verifiedBody{expected, v.Deviations, phrase.List(v.Problems, error.Error)}
		return documentOf("move-verify").Write(w, v.Problems, body)
	}
	b := bufio.NewWriter(w)
	for _, d := range v.Deviations {
		fmt.Fprintf(b, "%s: %s\n  %s %s\n", paint.Bold(phrase.Visible(d.ID.String())), phrase.Visible(d.Reason), paint.Dim("to do:"), phrase.Visible(d.Fix))
		for _, c := range d.Commands {
			fmt.Fprintf(b, "    %s\n", phrase.Visible(c))
		}
	}
	if len(v.Deviations) > 0 {
		b.WriteByte('\n')
	}
	switch {
	case len(v.Deviations) > 0:
		fmt.Fprintln(b, paint.Red(fmt.Sprintf("%s in %s, of %s that should have arrived.",
			phrase.Count(len(v.Deviations), "deviation"), phrase.Visible(v.Target), phrase.Count(expected, "object"))))
	case len(v.Problems) > 0:
		fmt.Fprintln(b, paint.Yellow("Not everything could be read, so it is unknown whether all objects arrived."))
	default:
		fmt.Fprintf(b, "All %s arrived in %s as planned.\n", phrase.Count(expected, "object"), phrase.Visible(v.Target))
	}
	return b.Flush()
}
