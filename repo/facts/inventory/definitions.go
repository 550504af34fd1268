package inventory

import (
	"context"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// withoutDefinitions reads the files of a release and leaves only the lines of
// their CustomResourceDefinitions, which are most of the text and name no images.
// A file that cannot be read is missing.
func withoutDefinitions(ctx context.Context, r *repo.Release) Parsed {
	kindOf := kindsOf(r)
	out := Parsed{}
	for _, a := range r.Artifacts {
		kind := kindOf(a)
		if !slices.Contains(kinds[:], kind) || ctx.Err() != nil {
			continue
		}
		if data, err := a.Text(); err == nil {
			out[a.Name] = manifest.New(a, readAs(kind, r), dropDefinitions(data))
		}
	}
	return out
}

// definition is how a definition begins that kustomize or controller-gen wrote.
const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"

// dropDefinitions leaves only the ends of lines of documents that are surely
// definitions, so that all else keeps its line.
func dropDefinitions(data string) string {
	chunks, err := yamldoc.Split(data)
	if err != nil || !strings.Contains(data, definition) || strings.IndexByte(data, 0) >= 0 {
		return data
	}
	var out strings.Builder
	end := 0 // of what is in out
	for _, c := range chunks {
		if !isDefinition(c.Data) {
			if spansLines(c.Data) {
				return data // what follows may be part of an expression
			}
			continue
		}
		out.WriteString(data[end:c.Start])
		end = c.Start + len(c.Data)
		out.WriteString(strings.Repeat("\n", strings.Count(c.Data, "\n")))
	}
	out.WriteString(data[end:])
	return out.String()
}

// isDefinition reports whether a document begins as a definition, has no
// expression, and has no key at its top that could make another kind of it: the
// last of equal keys counts.
func isDefinition(doc string) bool {
	doc = strings.TrimPrefix(doc, "---\n")
	rest, ok := strings.CutPrefix(doc, definition)
	if !ok || strings.Contains(rest, "${") {
		return false
	}
	for line := range strings.Lines(rest) {
		switch line[0] {
		case ' ', '\n', '-':
			continue
		}
		if key := strings.TrimRight(line, "\n"); key != "spec:" && key != "status:" {
			return false
		}
	}
	return true
}

// spansLines reports whether an expression may continue in the next line.
func spansLines(doc string) bool {
	for line := range strings.Lines(doc) {
		depth := 0
		for i := range len(line) {
			switch c := line[i]; {
			case c == '{' && i > 0 && line[i-1] == '$':
				depth++
			case c == '}' && depth > 0:
				depth--
			}
		}
		if depth > 0 {
			return true
		}
	}
	return false
}

// readAs is how a file is read: clusterctl replaces variables in those of
// providers alone.
func readAs(kind layouts.FileKind, r *repo.Release) layouts.FileKind {
	if r.Provider == layouts.CertManager {
		return layouts.Asset
	}
	return kind
}
