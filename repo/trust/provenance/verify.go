package provenance

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// MismatchError lists all ways in which a statement and its release differ.
type MismatchError struct {
	// Path is where the statement is.
	Path     string
	Problems []string
}

// Error puts every problem on a line of its own.
func (e *MismatchError) Error() string {
	return e.Path + " does not match the files next to it\n  " + strings.Join(e.Problems, "\n  ")
}

// Verify compares the statement of r with its files: every subject must be
// there with its checksum, and every file must be a subject, but for those that
// are made of the statement. A statement of our build type must also be about
// this version, and this provider if r says which that is, so that an old
// release cannot pass for a new one.
// The error is a *MismatchError if they differ, and wraps fs.ErrNotExist if r
// has no statement.
//
// Who made the statement is the matter of a signature.
func Verify(ctx context.Context, r *repo.Release) error {
	s, p, ours, err := statementOf(r)
	if err != nil {
		return err
	}
	failed := &MismatchError{Path: r.Artifact(layouts.ProvenanceFile).Path}
	problem := func(format string, args ...any) {
		failed.Problems = append(failed.Problems, fmt.Sprintf(format, args...))
	}
	switch {
	case ours && p.Version != r.Version:
		problem("it is for version %s, but these are the files of %s", p.Version, r.Version)
	case ours && p.Provider != r.Provider.Label() && r.Provider != (layouts.Provider{}):
		problem("it is for %s, but these are the files of %s", cmp.Or(p.Provider, "several providers"), r.Provider.Label())
	}
	files := make(map[string]*repo.Artifact, len(r.Artifacts))
	for _, a := range r.Artifacts {
		files[a.Name] = a
	}
	named := make(map[string]bool, len(s.Subject))
	for _, subject := range s.Subject {
		a := files[subject.Name]
		want, ok := subject.sum()
		switch {
		case named[subject.Name]:
			problem("%q is listed twice as a subject", subject.Name)
			continue
		case a == nil:
			problem("%q is missing", subject.Name)
		case !ok:
			problem("%s has no SHA-256 in the statement", subject.Name)
		default:
			got, err := a.Sum(ctx)
			if err != nil {
				return err
			}
			if got != want {
				problem("%s has the checksum %s", subject.Name, got)
			}
		}
		named[subject.Name] = true
	}
	for _, a := range r.Artifacts {
		if !named[a.Name] && !a.Kind().Attests() {
			problem("%s is not a subject", a.Name)
		}
	}
	if len(failed.Problems) > 0 {
		return failed
	}
	return nil
}

// facts are what a statement says about the source of a release.
type facts struct {
	// Providers are the labels of the providers in the release; empty for a
	// statement of another build type.
	Providers []string
	// Source is the URI of the source repository, and Commit the git commit;
	// empty if the statement names none.
	Source, Commit string
	// Loose are the inputs that are not at the commit, by path in the source
	// tree.
	Loose []string
}

// statementOf reads the statement of r, and its parameters if they are of our build
// type. The error wraps fs.ErrNotExist if r has none.
func statementOf(r *repo.Release) (s *statement, p parameters, ours bool, err error) {
	file := r.Artifact(layouts.ProvenanceFile)
	if file == nil {
		return nil, p, false, repo.Missing("%s has no %s", r.Path, layouts.ProvenanceFile)
	}
	data, err := file.Bytes()
	if err != nil {
		return nil, p, false, err
	}
	if s, err = parse(data); err == nil {
		p, ours, err = s.parameters()
	}
	if err != nil {
		err = fmt.Errorf("%s %w", file.Path, err)
	}
	return s, p, ours, err
}

// Read returns what the statement of r says. It compares nothing; see Verify.
// The error wraps fs.ErrNotExist if r has no statement.
func Read(ctx context.Context, r *repo.Release) (*facts, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, p, _, err := statementOf(r)
	if err != nil {
		return nil, err
	}
	out := &facts{}
	if p.Provider != "" {
		out.Providers = []string{p.Provider}
	}
	for _, d := range s.Predicate.BuildDefinition.ResolvedDependencies {
		if commit := d.Digest["gitCommit"]; commit != "" && out.Commit == "" {
			out.Source, out.Commit = d.URI, commit
		}
		if path, ok := strings.CutPrefix(d.Name, looseName); ok {
			out.Loose = append(out.Loose, path)
		}
	}
	return out, nil
}
