package lint

import "fmt"

// Own are severities by ID in a file that lies among the judged ones, whose author
// must not decide for the reader which errors count: they raise severities, lower
// only warnings, and suppress only warnings and infos.
type Own struct {
	File     string
	Severity map[string]Severity
}

// Weighed is what the severities of such a file changed.
type Weighed struct {
	File string
	// Silenced findings are among the suppressed ones, and lowered ones among the
	// others. Kept are errors that stay, against the file.
	Silenced, Lowered, Kept int
}

// weigh gives the findings the severities of a file among the judged ones, as far as
// that may.
func (r *Report) weigh(own Own) {
	changed := Weighed{File: own.File}
	kept := r.Findings[:0]
	for _, f := range r.Findings {
		level, ok := own.Severity[f.Rule.ID]
		switch {
		case !ok || level == f.Severity:
		case level > f.Severity:
			f.Severity = level
		case f.Severity == Error:
			changed.Kept++
		case level == Off:
			changed.Silenced++
			r.Suppressed = append(r.Suppressed, Suppressed{Finding: f, By: own.File, Reason: fmt.Sprintf("%s switches %s off", own.File, f.Rule.ID)})
			continue
		default:
			changed.Lowered++
			f.Severity = level
		}
		kept = append(kept, f)
	}
	r.Findings = kept
	if changed != (Weighed{File: own.File}) {
		r.Weighed = append(r.Weighed, changed)
	}
}
