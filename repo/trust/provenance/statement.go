package provenance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// MediaType is the type of what is signed in an envelope (in-toto attestation:
// spec/v1/envelope.md).
const MediaType = "application/vnd.in-toto+json"

// buildType is the kind of build that the statements describe: it says what
// their parameters mean.
const buildType = project + "/build/v1"

// looseName begins the name of a dependency that is an input outside the commit.
const looseName = "not at the commit: "

const (
	project       = "https://github.com/clusterctl-repo/clusterctl-repo"
	tool          = "clusterctl-repo"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
)

// Build says how a release was built. Nothing in it is needed; what is empty
// is left out.
type Build struct {
	// Source is the repository of the source tree: a remote as git names it,
	// or a URI. Credentials in it, and a path of this machine, are left out.
	Source string
	// Commit is the git commit of the source tree, in hexadecimal. It is only
	// true if nothing in the tree was changed since.
	Commit string
	// Loose are the inputs that the commit does not have as they were read: files
	// that git does not track or ignores, changed ones, and files elsewhere. The
	// keys are paths in the source tree with slashes, or the names of files
	// elsewhere.
	Loose map[string]repo.Sum
	// Images are the images that were replaced, by the old name.
	Images map[string]string
	// Options are the further settings that shape the files, by name.
	Options map[string]string
	// Builder is the URI of the platform that ran the build, and is trusted for
	// what the statement says; by default, the tool itself.
	Builder string
	// ToolVersion is the version of the tool.
	ToolVersion string
	// Invocation is the URI of this run of the builder.
	Invocation string
	// Started and Finished are when that was. The same input gives the same
	// bytes only without them and without Invocation.
	Started, Finished time.Time
}

// statement is an in-toto statement with a SLSA provenance predicate
// (slsa.dev/provenance/v1). A reader ignores fields it does not know.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     struct {
		BuildDefinition buildDefinition `json:"buildDefinition"`
		RunDetails      runDetails      `json:"runDetails"`
	} `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type buildDefinition struct {
	BuildType string `json:"buildType"`
	// ExternalParameters mean what the build type says.
	ExternalParameters   json.RawMessage `json:"externalParameters"`
	ResolvedDependencies []dependency    `json:"resolvedDependencies,omitempty"`
}

type dependency struct {
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
	Name   string            `json:"name,omitempty"`
}

type runDetails struct {
	Builder struct {
		ID      string            `json:"id"`
		Version map[string]string `json:"version,omitempty"`
	} `json:"builder"`
	Metadata metadata `json:"metadata,omitzero"`
}

type metadata struct {
	InvocationID string    `json:"invocationId,omitempty"`
	StartedOn    time.Time `json:"startedOn,omitzero"`
	FinishedOn   time.Time `json:"finishedOn,omitzero"`
}

// parameters are the external parameters of buildType.
type parameters struct {
	// Provider is the label; empty for a release of several providers.
	Provider string            `json:"provider,omitempty"`
	Version  string            `json:"version"`
	Source   string            `json:"source,omitempty"`
	Images   map[string]string `json:"images,omitempty"`
	Options  map[string]string `json:"options,omitempty"`
}

// newStatement returns the statement on the files of r: all but the statement
// itself, and what is made of it later: its signed form, the checksum file and
// the signature of that. The same release and build give the same bytes.
func newStatement(ctx context.Context, r *repo.Release, b Build) ([]byte, error) {
	s := statement{Type: statementType, PredicateType: predicateType, Subject: []subject{}}
	for _, a := range r.Artifacts {
		if a.Kind().Attests() {
			continue
		}
		sum, err := a.Digest(ctx)
		if err != nil {
			return nil, err
		}
		s.Subject = append(s.Subject, subject{a.Name, map[string]string{"sha256": sum.String()}})
	}
	source := repositoryURI(b.Source)
	external, err := encode(parameters{r.Provider.Label(), r.Version, source, b.Images, b.Options}, "")
	if err != nil {
		return nil, err
	}
	s.Predicate.BuildDefinition = buildDefinition{BuildType: buildType, ExternalParameters: external}
	if b.Commit != "" {
		if n := len(b.Commit); n != 40 && n != 64 || strings.Trim(b.Commit, "0123456789abcdef") != "" {
			return nil, fmt.Errorf("the commit %q is not a git commit: 40 or 64 hexadecimal digits in lower case", b.Commit)
		}
		s.Predicate.BuildDefinition.ResolvedDependencies = []dependency{{source, map[string]string{"gitCommit": b.Commit}, "source"}}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Loose)) {
		s.Predicate.BuildDefinition.ResolvedDependencies = append(s.Predicate.BuildDefinition.ResolvedDependencies,
			dependency{Name: looseName + name, Digest: map[string]string{"sha256": b.Loose[name].String()}})
	}
	run := &s.Predicate.RunDetails
	if run.Builder.ID, err = platformURI("builder", cmp.Or(b.Builder, project)); err != nil {
		return nil, err
	}
	if b.ToolVersion != "" {
		run.Builder.Version = map[string]string{tool: b.ToolVersion}
	}
	run.Metadata = metadata{StartedOn: moment(b.Started), FinishedOn: moment(b.Finished)}
	if run.Metadata.InvocationID, err = platformURI("invocation", b.Invocation); err != nil {
		return nil, err
	}
	return encode(s, "  ")
}

// Add returns a copy of r that has the statement, and its checksum file made
// again. If r has a checksum file, that must be true. What was signed no longer
// fits and is left out.
func Add(ctx context.Context, r *repo.Release, b Build) (*repo.Release, error) {
	if r.Artifact(layouts.ChecksumFile) != nil {
		if err := repo.VerifyChecksums(ctx, r); err != nil {
			return nil, err
		}
	}
	data, err := newStatement(ctx, r, b)
	if err != nil {
		return nil, err
	}
	out := *r
	out.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(a *repo.Artifact) bool { return a.Kind().Attests() })
	out.Artifacts = append(out.Artifacts, repo.BytesArtifact(layouts.ProvenanceFile, data))
	out.Sort()
	sums, err := repo.Checksums(ctx, &out)
	if err != nil {
		return nil, err
	}
	out.Artifacts = append(out.Artifacts, repo.BytesArtifact(layouts.ChecksumFile, sums))
	out.Sort()
	return &out, nil
}

// moment is a time as SLSA writes it: in UTC, to the second.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write the provenance: %w", err)
	}
	return out.Bytes(), nil
}

// parse reads a statement. Its errors do not say in which file.
func parse(data []byte) (*statement, error) {
	var s statement
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("is not an in-toto statement: %w", err)
	}
	if err := repo.UnambiguousJSON(data); err != nil {
		return nil, err
	}
	definition := s.Predicate.BuildDefinition
	switch {
	case s.Type != statementType:
		return nil, fmt.Errorf("is not an in-toto statement: its _type is %q and not %s", s.Type, statementType)
	case s.PredicateType != predicateType:
		return nil, fmt.Errorf("is not SLSA provenance: its predicateType is %q and not %s", s.PredicateType, predicateType)
	case definition.BuildType == "":
		return nil, errors.New("is not SLSA provenance: it has no buildType")
	case s.Predicate.RunDetails.Builder.ID == "":
		return nil, errors.New("is not SLSA provenance: it has no builder id")
	}
	return &s, nil
}

// parameters reads the external parameters, if they are of our build type.
func (s *statement) parameters() (p parameters, ours bool, err error) {
	if s.Predicate.BuildDefinition.BuildType != buildType {
		return p, false, nil
	}
	if err := json.Unmarshal(s.Predicate.BuildDefinition.ExternalParameters, &p); err != nil {
		return p, true, fmt.Errorf("has no externalParameters of %s: %w", buildType, err)
	}
	return p, true, nil
}

// sum returns the SHA-256 of a subject.
func (s subject) sum() (sum repo.Sum, ok bool) {
	raw, err := hex.DecodeString(s.Digest["sha256"])
	if err != nil || len(raw) != len(sum) {
		return sum, false
	}
	return repo.Sum(raw), true
}
