package detect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// repository is what the name of the source repository tells.
type repository struct {
	// name is the repository, such as cluster-api-provider-example; from says
	// where it is known from.
	name, from string
	// other says which other name was skipped; empty if there is none.
	other string
	// github is its owner/name, if it is known to be on GitHub.
	github string
	// provider and typ are read from the name; typ may be empty.
	provider string
	typ      layouts.ProviderType
}

var (
	remoteSection = phrase.Pattern(`^\s*\[remote "(.*)"\]`)
	remoteURL     = phrase.Pattern(`^\s*url\s*=\s*(\S+)`)
	modulePath    = phrase.Pattern(`(?m)^module\s+"?([^\s"]+)"?`)
	majorSuffix   = phrase.Pattern(`/v[0-9]+$`)
	gitHubForm    = phrase.Pattern(`(?:^|[/@.])github\.com(?::[0-9]+)?[:/]([^/:]+/[^/:]+)$`)
	repoForm      = phrase.Pattern(`^cluster-api-(?:([a-z-]+)-)?provider-(.+)$`)
	notName       = phrase.Pattern(`[^a-z0-9]+`)
)

// typeWords are the words for provider types in names of repositories and
// folders, besides the short words of layouts.Types.
var typeWords = map[string]layouts.ProviderType{
	"controlplane": layouts.ControlPlane,
	"infra":        layouts.Infrastructure,
	"addons":       layouts.Addon,
	"runtime":      layouts.RuntimeExtension,
	"extension":    layouts.RuntimeExtension,
}

func typeByWord(word string) (layouts.ProviderType, bool) {
	if t, ok := typeWords[word]; ok {
		return t, true
	}
	return layouts.TypeByWord(word)
}

// newRepository takes the name from the Go module, else from the git remote,
// else from the folder: the module is part of every commit, while remotes and
// folders differ between checkouts. A name that does not have the form of a
// provider's repository yields to one that has it.
func newRepository(fsys fs.FS, hints Hints) repository {
	module, remote := goModule(fsys), gitRemote(fsys)
	if remote == "" && hints.Remote != nil && !providerName(lastName(module)) {
		remote = trimGit(hints.Remote())
	}
	folder := strings.ToLower(path.Base(hints.Folder))
	if folder == "." || folder == "/" {
		folder = ""
	}
	var r repository
	for _, c := range []repository{
		{name: lastName(module), from: "the Go module"},
		{name: lastName(remote), from: "the git remote"},
		{name: folder, from: fromFolder},
	} {
		switch {
		case c.name == "":
		case r.name == "", !providerName(r.name) && providerName(c.name):
			r = c
		case c.name != folder && c.name != r.name && providerName(c.name) && r.other == "":
			r.other = fmt.Sprintf("%s, %s, is not used", c.from, c.name)
		}
	}
	if r.name == "" {
		return r
	}
	for _, at := range []string{module, remote} {
		if m := gitHubForm().FindStringSubmatch(at); m != nil && lastName(at) == r.name {
			r.github = m[1]
			break
		}
	}
	switch m := repoForm().FindStringSubmatch(r.name); {
	case r.name == layouts.CoreName:
		r.typ = layouts.Core
	case m != nil:
		r.provider = m[2]
		r.typ, _ = typeByWord(m[1])
	default:
		r.provider = strings.TrimPrefix(r.name, "cluster-api-")
	}
	r.provider = strings.Trim(notName().ReplaceAllString(r.provider, "-"), "-")
	return r
}

// fromFolder is the least reliable of the places that a name is known from.
const fromFolder = "the name of the folder"

// reason says why a provider has the name of the repository.
func (r repository) reason() string {
	reason := fmt.Sprintf("from %s, %s, because no object has the label %s", r.from, r.name, layouts.ProviderLabel)
	if r.other != "" {
		reason += "; " + r.other
	}
	return reason
}

// lastName is the last part of the path of a module or a remote, in lower case.
func lastName(at string) string { return strings.ToLower(at[strings.LastIndexAny(at, "/:")+1:]) }

// providerName reports whether a repository of that name is one of Cluster API.
func providerName(name string) bool {
	return name == layouts.CoreName || repoForm().MatchString(name)
}

func trimGit(url string) string { return strings.TrimSuffix(strings.TrimRight(url, "/"), ".git") }

// embedded returns the name that the provider p of the repository has in
// clusterctl's own list, if it is there under another one only.
func (r repository) embedded(p layouts.Provider) string {
	var name string
	for _, e := range layouts.EmbeddedProviders {
		switch {
		case e.Type != p.Type || !strings.EqualFold(e.Repository, r.github):
		case e.Name == p.Name:
			return ""
		default:
			name = e.Name
		}
	}
	return name
}

// gitRemote returns the address of the remote origin, or else of the first.
func gitRemote(fsys fs.FS) string {
	data, err := fs.ReadFile(fsys, ".git/config")
	if err != nil {
		return ""
	}
	var section, first, origin string
	for line := range strings.Lines(string(data)) {
		if m := remoteSection().FindStringSubmatch(line); m != nil {
			section = m[1]
		} else if strings.HasPrefix(strings.TrimSpace(line), "[") {
			section = ""
		}
		m := remoteURL().FindStringSubmatch(line)
		if m == nil || section == "" {
			continue
		}
		url := trimGit(m[1])
		first = cmp.Or(first, url)
		if section == "origin" {
			origin = url
		}
	}
	return cmp.Or(origin, first)
}

// goModule returns the path of the Go module without its major version.
func goModule(fsys fs.FS) string {
	data, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return ""
	}
	m := modulePath().FindSubmatch(data)
	if m == nil {
		return ""
	}
	return majorSuffix().ReplaceAllString(string(m[1]), "")
}

// identity is the type and name of a provider, with the reasons.
type identity struct {
	layouts.Provider
	typeReason, nameReason string
}

// notProvider says why a kustomization is none of a provider.
type notProvider struct{ reason string }

func (e notProvider) Error() string { return e.reason }

// identify concludes type and name of the provider that the kustomization in
// dir builds. CRDs decide about the type, because the API group has to be
// right for the provider to work while a wrong label goes unnoticed; the label
// decides about the name, and about the type where CRDs leave a choice.
func identify(dir string, f facts, repo repository) (identity, error) {
	label := f.label
	if label.value == "" {
		label = f.objectLabel
	}
	var id identity
	labelled, misspelt, typed := readLabel(label.value, f.types)
	switch {
	case typed && misspelt:
		info, _ := labelled.Type.Info()
		id.Name, id.nameReason = labelled.Name, fmt.Sprintf("from the label %s: %s in %s, which spells the prefix %s differently", layouts.ProviderLabel, label.value, label.file, info.Prefix)
	case typed:
		id.Name, id.nameReason = labelled.Name, fmt.Sprintf("from the label %s: %s in %s", layouts.ProviderLabel, label.value, label.file)
	case label.value != "":
		id.Name, id.nameReason = label.value, fmt.Sprintf("from the label %s: %s in %s, which lacks the prefix of its type", layouts.ProviderLabel, label.value, label.file)
	}

	switch {
	case typed && (f.types[labelled.Type] || len(f.types) == 0):
		if f.crds == 0 && f.missing == nil && f.remote == nil && ownsCRDs(labelled.Type) {
			return id, notProvider{fmt.Sprintf("the label in %s is %s, but no CRD belongs to it", label.file, label.value)}
		}
		id.Type, id.typeReason = labelled.Type, "from the label in "+label.file
	case len(f.types) > 0:
		var err error
		id.Type, id.typeReason, err = typeOf(dir, f.types, repo)
		if err != nil {
			id.Name = cmp.Or(id.Name, repo.provider)
			return id, err
		}
		if typed {
			id.typeReason += fmt.Sprintf("; the label %s in %s contradicts it", label.value, label.file)
		}
	case label.value == "":
		return id, notProvider{"it has no CRD of an API group of Cluster API and no label " + layouts.ProviderLabel}
	default:
		t, ok := folderType(dir)
		if !ok {
			t, ok = repo.typ, repo.typ != ""
		}
		if !ok {
			return id, fmt.Errorf("%s builds a provider %q of unknown type: it has no CRD of an API group of Cluster API, and the label in %s lacks the prefix of a type", dir, label.value, label.file)
		}
		id.Type, id.typeReason = t, "from the name of the folder or repository"
	}

	switch {
	case id.Type == layouts.Core:
		id.Name, id.nameReason = layouts.CoreName, "the only name of a core provider"
	case id.Name == layouts.CoreName:
		id.Name = ""
	}
	if id.Name == "" {
		if repo.provider == "" {
			return id, fmt.Errorf("%s builds a provider whose name is unknown: it has no label %s, and the repository is not named cluster-api-provider-NAME", dir, layouts.ProviderLabel)
		}
		id.Name, id.nameReason = repo.provider, repo.reason()
	}
	return id, nil
}

// readLabel reads a provider label. It also takes other words for the prefix,
// such as controlplane-, if there are CRDs of that type.
func readLabel(label string, types map[layouts.ProviderType]bool) (p layouts.Provider, misspelt, ok bool) {
	if p, err := layouts.ParseLabel(label); err == nil {
		return p, false, true
	}
	word, name, _ := strings.Cut(label, "-")
	if t, ok := typeWords[word]; ok && name != "" && types[t] {
		return layouts.Provider{Type: t, Name: name}, true, true
	}
	return layouts.Provider{}, false, false
}

// ownsCRDs reports whether a provider of the type cannot do without CRDs of
// its own.
func ownsCRDs(t layouts.ProviderType) bool {
	return slices.Contains([]layouts.ProviderType{layouts.Core, layouts.Bootstrap, layouts.ControlPlane, layouts.Infrastructure}, t)
}

func folderType(dir string) (layouts.ProviderType, bool) {
	names := strings.Split(dir, "/")
	for _, n := range slices.Backward(names) {
		if t, ok := typeByWord(n); ok {
			return t, true
		}
	}
	return "", false
}

// typeOf chooses the type of a provider among those of its CRDs. With an error
// comes one that is possible.
func typeOf(dir string, types map[layouts.ProviderType]bool, repo repository) (layouts.ProviderType, string, error) {
	if types[layouts.Core] {
		return layouts.Core, "from the API group of its CRDs", nil
	}
	all := slices.Sorted(maps.Keys(types))
	if len(all) == 1 {
		return all[0], "from the API group of its CRDs", nil
	}
	if t, ok := folderType(dir); ok && types[t] {
		return t, "from the API groups of its CRDs and the name of the folder", nil
	}
	switch {
	case types[repo.typ]:
		return repo.typ, "from the API groups of its CRDs and the name of the repository", nil
	case types[layouts.Infrastructure]:
		return layouts.Infrastructure, "from the API groups of its CRDs: an infrastructure provider may include its own control planes and bootstrap configurations", nil
	}
	words := strings.Join(phrase.List(all, layouts.ProviderType.Short), ", ")
	return all[0], "", errors.New(dir + " builds CRDs of several provider types: " + words)
}

// ProviderName is the name of the provider that the module or the remote of a source
// tree tells; empty if neither is named like the repository of one.
func ProviderName(fsys fs.FS, hints Hints) string {
	hints.Folder = ""
	if r := newRepository(fsys, hints); providerName(r.name) {
		return r.provider
	}
	return ""
}
