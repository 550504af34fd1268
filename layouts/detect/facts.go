package detect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// groupTypes says which type of provider defines CRDs of an API group. The
// core provider defines some of the others too; its own group decides.
var groupTypes = map[string]layouts.ProviderType{
	"cluster.x-k8s.io":                layouts.Core,
	"bootstrap.cluster.x-k8s.io":      layouts.Bootstrap,
	"controlplane.cluster.x-k8s.io":   layouts.ControlPlane,
	"infrastructure.cluster.x-k8s.io": layouts.Infrastructure,
	"ipam.cluster.x-k8s.io":           layouts.IPAM,
	"addons.cluster.x-k8s.io":         layouts.Addon,
}

// labelAt is a value of the provider label and the file that sets it.
type labelAt struct {
	value, file string
}

// facts are what the files of a kustomization say about its provider, without
// building it.
type facts struct {
	// types are the provider types of the API groups of its CRDs.
	types map[layouts.ProviderType]bool
	// crds counts the CRDs of all groups.
	crds int
	// label is set by a kustomization for all objects; labels found in single
	// objects come second.
	label, objectLabel labelAt
	// remote are bases on the network, missing are resources that are not in the
	// tree, for example because they have yet to be generated.
	remote, missing []string
	// broken says why a kustomization on the way cannot be read.
	broken error
	// files are those that were read.
	files []string
}

// kustomization is the part of kustomize's format that matters here.
type kustomization struct {
	err       error // why it cannot be read
	resources []string
	label     string
	namespace string
}

// survey reads kustomizations and manifests of a tree, each file once.
type survey struct {
	fsys  fs.FS
	kusts map[string]*kustomization
	files map[string]manifest
}

// manifest is what a file of objects says.
type manifest struct {
	groups []string
	label  string
}

func newSurvey(fsys fs.FS) *survey {
	return &survey{fsys: fsys, kusts: map[string]*kustomization{}, files: map[string]manifest{}}
}

// maxFiles bounds what is followed from one kustomization, which links could
// make endless.
const maxFiles = 10_000

// facts follows the resources of the kustomization in dir. Whatever cannot be
// read is left out: the build will complain about it with more right.
func (s *survey) facts(dir string) facts {
	f := facts{types: map[layouts.ProviderType]bool{}}
	queue := []string{dir}
	seen := map[string]bool{dir: true}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		k, name := s.kustomization(at)
		if k == nil {
			f.files = append(f.files, at)
			m, ok := s.manifest(at)
			m.addTo(&f, at)
			if !ok {
				f.missing = append(f.missing, at)
			}
			continue
		}
		f.files = append(f.files, name)
		if f.broken == nil {
			f.broken = k.err
		}
		if f.label.value == "" && k.label != "" {
			f.label = labelAt{k.label, name}
		}
		for _, r := range k.resources {
			if layouts.IsRemoteBase(r) {
				f.remote = append(f.remote, r)
				continue
			}
			p := path.Join(at, r)
			if fs.ValidPath(p) && !seen[p] && len(seen) < maxFiles {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	return f
}

// contract is the newest contract whose label the files of a kustomization hold; "" if
// there is none.
func (s *survey) contract(dir string) string {
	files := s.facts(dir).files
	for _, contract := range []string{"v1beta2", "v1beta1"} {
		if slices.ContainsFunc(files, func(name string) bool {
			data, err := fs.ReadFile(s.fsys, name)
			return err == nil && bytes.Contains(data, []byte(" cluster.x-k8s.io/"+contract+":"))
		}) {
			return contract
		}
	}
	return ""
}

func (m manifest) addTo(f *facts, file string) {
	f.crds += len(m.groups)
	for _, g := range m.groups {
		if t, ok := groupTypes[g]; ok {
			f.types[t] = true
		}
	}
	if f.objectLabel.value == "" && m.label != "" {
		f.objectLabel = labelAt{m.label, file}
	}
}

// kustomization reads the kustomization of a folder, nil if it is none.
func (s *survey) kustomization(dir string) (k *kustomization, file string) {
	for _, name := range layouts.KustomizationFiles {
		file = path.Join(dir, name)
		if k, known := s.kusts[file]; known {
			return k, file
		}
		data, err := fs.ReadFile(s.fsys, file)
		if err != nil {
			if _, statErr := fs.Stat(s.fsys, file); statErr != nil {
				continue
			}
		}
		k := &kustomization{}
		s.kusts[file] = k
		if err != nil {
			if pe, ok := errors.AsType[*fs.PathError](err); ok {
				err = pe.Err
			}
			k.err = fmt.Errorf("%s cannot be read: %w", file, err)
			return k, file
		}
		stream := yamldoc.Parse(yamldoc.NewFile(file, data))
		if len(stream.Docs) == 0 {
			return k, file
		}
		if err := stream.Docs[0].Err; err != nil {
			k.err = err
			return k, file
		}
		root := stream.Docs[0].Root
		for _, key := range []string{"resources", "bases", "components"} {
			k.resources = append(k.resources, phrase.List(root.Get(key).List(), (*yamldoc.Node).Str)...)
		}
		k.namespace = root.Get("namespace").Str()
		k.label = root.Get("commonLabels", layouts.ProviderLabel).Str()
		for _, l := range root.Get("labels").List() {
			if v := l.Get("pairs", layouts.ProviderLabel).Str(); v != "" && k.label == "" {
				k.label = v
			}
		}
		return k, file
	}
	return nil, ""
}

// manifest reads a file of objects; ok is false if there is none.
func (s *survey) manifest(file string) (m manifest, ok bool) {
	if m, ok = s.files[file]; ok {
		return m, true
	}
	data, err := fs.ReadFile(s.fsys, file)
	if err != nil {
		return m, false
	}
	chunks, _ := yamldoc.Split(string(data)) // what follows a bad separator is lost to everyone
	m.groups = phrase.Some(chunks, func(c yamldoc.Chunk) string { return crdGroup(c.Data) })
	// CRDs are large and have no label: look before the slow search.
	if at := bytes.Index(data, []byte(layouts.ProviderLabel+":")); at >= 0 {
		if v := objectLabel().FindSubmatch(data[bytes.LastIndexByte(data[:at], '\n')+1:]); v != nil {
			m.label = string(v[1])
		}
	}
	s.files[file] = m
	return m, true
}

var (
	specGroup   = phrase.Pattern(`^ +group: *["']?([a-z0-9.-]+)["']?\s*$`)
	objectLabel = phrase.Pattern(`(?m)^\s+cluster\.x-k8s\.io/provider: *["']?([A-Za-z0-9._-]+)["']?\s*$`)
)

// crdGroup returns the API group of a document that is a CRD. CRDs are by far
// the largest files of a provider, so the usual layout of generated ones is
// read line by line; only others are parsed.
func crdGroup(data string) string {
	if !strings.Contains(data, "CustomResourceDefinition") {
		return ""
	}
	if at := strings.Index(data, "\nspec:\n"); at >= 0 && strings.Contains(data, "\nkind: CustomResourceDefinition\n") {
		for line := range strings.Lines(data[at+len("\nspec:\n"):]) {
			if text := strings.TrimRight(line, " \r\n"); text != "" && text[0] != ' ' && text[0] != '#' {
				break
			}
			if m := specGroup().FindStringSubmatch(line); m != nil {
				return m[1]
			}
		}
	}
	stream := yamldoc.Parse(yamldoc.NewFile("", data))
	if len(stream.Docs) == 0 || stream.Docs[0].Root.Get("kind").Str() != "CustomResourceDefinition" {
		return ""
	}
	return stream.Docs[0].Root.Get("spec", "group").Str()
}
