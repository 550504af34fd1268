package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/definitions"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// CRDFile is a text with definitions, in YAML or JSON.
type CRDFile struct {
	Name string
	Data []byte
}

// CRDOptions say how to judge.
type CRDOptions struct {
	// Profile is the Cluster API to judge for; the zero value is the newest. Without a
	// contract in it, and without labels in the files, the contract counts of which the
	// fewest fields are missing.
	Profile contract.Profile
	// Role is that of all kinds; empty to recognize each.
	Role contract.Role
	// Severity overrides the severity of rules by ID; Off turns them off.
	Severity map[string]lint.Severity
}

// ErrNoDefinitions says that there is nothing to judge.
var ErrNoDefinitions = errors.New("the files hold no CustomResourceDefinition")

// alone are rules about what stands next to the definitions in a release.
var alone = map[string]bool{"conversion-service": true}

// labels are rules about what builds often add later: the label of the contract and
// conversion webhooks. Without any label they do not apply.
var labels = map[string]bool{"contract-label": true, "conversion-none": true}

// CheckCRDs judges the definitions in files together, as lint judges those of a release, in
// the roles that their names tell or the other objects in the files. It returns
// ErrNoDefinitions if there are none.
func CheckCRDs(ctx context.Context, all []CRDFile, o CRDOptions) (*lint.Report, error) {
	if o.Profile.Core == 0 {
		o.Profile.Core = contract.NewestCore
	}
	// The files are no longer needed once they are joined, so that a caller
	// who does not need them either has them in memory once.
	o.Profile.Uses = contract.Uses{}
	holding, kinds, unread := definitionsOf(all, o.Profile.Uses)
	names, starts, text := join(holding)
	artifact := repo.BytesArtifact("infrastructure-components.yaml", text)
	if len(kinds) == 0 {
		for _, f := range holding {
			if err := fault(read(f)); err != nil {
				return nil, err
			}
		}
		return nil, ErrNoDefinitions
	}
	unlabelled := o.Profile.Contract == "" && !slices.ContainsFunc(kinds, labelled)
	if unlabelled {
		o.Profile.Contract = closest(kinds, o.Profile)
	}
	if o.Role != "" {
		o.Profile.Roles = map[string]contract.Role{}
		for _, k := range kinds {
			o.Profile.Roles[k.Kind+"."+k.Group] = o.Role
		}
	}
	var apply []*lint.Rule
	for _, f := range definitions.Families {
		for _, r := range f.Rules {
			if !alone[r.Name] && !(unlabelled && labels[r.Name]) {
				apply = append(apply, ByID(r.ID))
			}
		}
	}
	provider := layouts.Provider{Type: layouts.Infrastructure, Name: "definitions"}
	r, err := lint.Run(ctx, &repo.Repository{Providers: []*repo.Provider{{Provider: provider, Releases: []*repo.Release{{
		Provider: provider, Version: "v0.0.0", Artifacts: []*repo.Artifact{artifact},
	}}}}}, lint.Options{Rules: apply, Severity: o.Severity, Partial: true, Profile: o.Profile})
	if err != nil {
		return nil, err
	}
	// placed leads places in the joined text back to the file that they are in.
	placed := func(file *string, places ...*yamldoc.Pos) {
		n, found := slices.BinarySearch(starts, places[0].Line)
		if !found {
			n--
		}
		n = max(n, 0)
		*file = names[n]
		for _, p := range places {
			if p.Line > 0 {
				p.Line -= starts[n] - 1
			}
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		placed(&f.File, &f.Pos, &f.End)
		for j := range f.Also {
			placed(&f.Also[j].File, &f.Also[j].Pos)
		}
	}
	for i := range r.Rest {
		r.Rest[i].File = phrase.Few(names, 3)
	}
	r.Failures = append(r.Failures, unread...)
	r.Rename(func(name string) string { return name }) // sorts, and makes fingerprints of the new names
	r.Files, r.Releases, r.Providers = len(names), 0, 0
	for _, k := range o.Profile.Kinds(kinds, o.Profile.Uses) {
		r.Kinds = append(append(r.Kinds, k), k.Also...)
	}
	return r, nil
}

// join makes one text of files, with the names of the files and the lines, counted
// from 1, with which they begin in the text.
func join(all []CRDFile) (names []string, starts []int, text []byte) {
	const separator = "---\n"
	size := 0
	for _, f := range all {
		size += len(f.Data) + len("\n"+separator)
	}
	text = make([]byte, 0, size)
	line := 1
	for _, f := range all {
		names, starts = append(names, f.Name), append(starts, line)
		text = append(text, f.Data...)
		line += bytes.Count(f.Data, []byte("\n")) + 1
		if !bytes.HasSuffix(f.Data, []byte("\n")) {
			text = append(text, '\n')
			line++
		}
		text = append(text, separator...)
	}
	return names, starts, text
}

// definitionsOf returns the files with definitions, and these; all others may be samples,
// which use the kinds. What cannot be read of these might give a kind another role.
func definitionsOf(all []CRDFile, uses contract.Uses) (holding []CRDFile, out []*crd.CRD, unread []error) {
	for _, f := range all {
		file := read(f)
		uses.Add(f.Name, file.Objects())
		out = append(out, crd.In(file.Objects())...)
		if bytes.Contains(f.Data, []byte(crd.Kind)) {
			holding = append(holding, f)
		} else if err := fault(file); err != nil {
			unread = append(unread, err)
		}
	}
	return holding, out, unread
}

func read(f CRDFile) *manifest.File {
	return manifest.New(repo.BytesArtifact(f.Name, f.Data), layouts.ClusterTemplate, f.Data)
}

// fault is the first error in a file, with its place; nil if all of it is YAML.
func fault(f *manifest.File) error {
	s := f.Docs()
	if s == nil {
		return fmt.Errorf("%s: %w", f.Artifact.Path, f.Err())
	}
	return s.Problem()
}

// closest is the contract of which the fewest fields are missing, the newer one of two.
func closest(kinds []*crd.CRD, p contract.Profile) contract.Contract {
	best, fewest := contract.Accepted[0], -1
	for _, c := range contract.Accepted {
		p.Contract = c
		if _, missing := contract.Lacks(kinds, p); fewest < 0 || len(missing) < fewest {
			best, fewest = c, len(missing)
		}
	}
	return best
}

func labelled(c *crd.CRD) bool {
	return slices.ContainsFunc(contract.Accepted[:], func(k contract.Contract) bool {
		value, _ := c.Object.Label(k.Label())
		return value != ""
	})
}

// ReadCRDs reads files, and of folders all files that end in .yaml, .yml or .json, but not
// kustomizations. Folders in them are not entered.
func ReadCRDs(names ...string) ([]CRDFile, error) {
	var out []CRDFile
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		paths := []string{name}
		if info.IsDir() {
			entries, err := os.ReadDir(name)
			if err != nil {
				return nil, err
			}
			paths = nil
			for _, e := range entries {
				if e.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) && !strings.HasPrefix(strings.ToLower(e.Name()), "kustomization.") {
					paths = append(paths, filepath.Join(name, e.Name()))
				}
			}
		}
		for _, p := range paths {
			info, err := os.Stat(p)
			if err != nil {
				return nil, err
			}
			if !info.Mode().IsRegular() || info.Size() > repo.MaxFileSize {
				return nil, fmt.Errorf("%s is not a regular file of at most %d MB", p, repo.MaxFileSize>>20)
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return nil, err
			}
			if err := yamldoc.CheckCount(data); err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			out = append(out, CRDFile{filepath.ToSlash(p), data})
		}
	}
	return out, nil
}

// mostEntries bounds what CRDFolders looks at.
const mostEntries = 20_000

// CRDFolders returns folders in a folder that seem to hold definitions, for advice:
// at most a few, without hidden ones and those of dependencies, patches and test
// data.
func CRDFolders(dir string) (found []string) {
	const most = 5
	seen := 0
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if seen++; err != nil || seen > mostEntries || len(found) == most {
			return fs.SkipAll
		}
		switch parent := filepath.Dir(name); {
		case e.IsDir():
			if base := e.Name(); name != dir &&
				(base[0] == '.' || slices.Contains([]string{"vendor", "node_modules", "testdata", "patches"}, base)) {
				return fs.SkipDir
			}
		case filepath.Ext(name) == ".yaml" && e.Type().IsRegular() && parent != dir && !slices.Contains(found, parent):
			if head, err := head(name); err == nil && definitionLine().Match(head) {
				found = append(found, parent)
			}
		}
		return nil
	})
	return found
}

var definitionLine = phrase.Pattern(`(?m)^kind: ["']?` + crd.Kind + `["']?\s*$`)

// head reads the beginning of a file.
func head(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<10))
}
