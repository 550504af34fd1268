package config

import (
	"reflect"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// The header of every configuration file.
const (
	APIVersion = "clusterctl-repo.dev/v1alpha1"
	Kind       = "Config"
)

// FileName is where the configuration is looked for, at the root of the source
// tree.
const FileName = "clusterctl-repo.yaml"

// schemaURL is where editors find the JSON schema of the file.
const schemaURL = "https://raw.githubusercontent.com/clusterctl-repo/clusterctl-repo/main/docs/clusterctl-repo.schema.json"

// The struct tags are the single source of the decoder, the JSON schema and
// the comments that Write makes:
//
//	yaml     the key
//	doc      one sentence for the reader of the schema
//	enum     the allowed words, separated by commas
//	is       the form of a text, see forms
//	required the key must be there
//	one      (on Origin) of these keys exactly one must be there

// Config is the content of clusterctl-repo.yaml. Everything is optional: what
// is not said is detected (layouts/detect).
type Config struct {
	Origin `yaml:"-"`

	APIVersion  string              `yaml:"apiVersion" required:"true" enum:"clusterctl-repo.dev/v1alpha1" doc:"The version of this format."`
	Kind        string              `yaml:"kind" required:"true" enum:"Config" doc:"Always Config."`
	Version     Version             `yaml:"version" doc:"Which git tags are release versions."`
	Discovery   Discovery           `yaml:"discovery" doc:"How providers are found in the tree."`
	Metadata    string              `yaml:"metadata" is:"path" doc:"The metadata.yaml that all providers share, unless they name their own."`
	RemoteBases bool                `yaml:"remoteBases" doc:"Kustomizations may load bases from the network. The command line must also allow it, with --allow remote."`
	Generated   []Generated         `yaml:"generated" doc:"Files that a command generates before the build. Commands run only with --allow exec; without it the files must already exist."`
	Providers   []Provider          `yaml:"providers" doc:"The providers of this tree. An entry refines the detected provider with the same label or the same components path, or adds one."`
	Rules       map[string]severity `yaml:"rules" doc:"Severities by rule ID, for lint."`
	Roles       map[string]string   `yaml:"roles" doc:"Roles in the contracts of Cluster API by KIND.GROUP, for kinds whose names do not show it, such as FooThing.infrastructure.cluster.x-k8s.io: InfraMachine."`
	Removed     []string            `yaml:"removed" doc:"What the last release has and the next one lacks on purpose, as a refusal names it, such as flavor ha, class quick-start or crd foos.example.com."`
	Publish     []Destination       `yaml:"publish" doc:"Where releases go."`
}

// Version selects the git tags that name releases. The version of a build is
// always given on the command line; see Of.
type Version struct {
	Origin `yaml:"-"`

	TagPattern  string `yaml:"tagPattern" is:"regexp" doc:"Regular expression of the tags that are releases; \"^v\" if absent. Tags of nested modules such as api/v1.2.3 do not match it."`
	StripPrefix string `yaml:"stripPrefix" doc:"String at the start of a tag that is not part of the version."`
}

// Discovery limits the detection of providers.
type Discovery struct {
	Origin `yaml:"-"`

	Disabled bool     `yaml:"disabled" doc:"Build only the providers listed in this file."`
	Ignore   []string `yaml:"ignore" is:"glob" doc:"Folders in which providers are not searched for; * stands for a part of a name, ** for any number of folders."`
}

// Generated is a set of files that is made before the build. Without Run it
// states that the files have to be there.
type Generated struct {
	Origin `yaml:"-"`

	Files []string `yaml:"files" required:"true" is:"path" doc:"The files that must exist afterwards."`
	Run   []string `yaml:"run" doc:"The command and its arguments, started without a shell."`
	Dir   string   `yaml:"dir" is:"path" doc:"The folder the command runs in; the root of the tree if absent."`
}

// Provider describes the release of one provider.
type Provider struct {
	Origin `yaml:"-"`
	// Contract is the one that the CRDs declare, where a message proposes a metadata.yaml.
	Contract string `yaml:"-"`

	Type               string              `yaml:"type" enum:"core,bootstrap,control-plane,infrastructure,ipam,runtime-extension,addon" doc:"The provider type; from the API group of the CRDs if absent."`
	Name               string              `yaml:"name" is:"name" doc:"The provider name, without its type; from the provider label or the name of the repository if absent."`
	Components         Components          `yaml:"components" doc:"What the components file is built from."`
	Variants           []Components        `yaml:"variants" doc:"Further components files of the same release, such as infrastructure-components-supervisor.yaml. Images and patches apply to them too."`
	Metadata           string              `yaml:"metadata" is:"path" doc:"The metadata.yaml of this provider."`
	SourceReplacements []SourceReplacement `yaml:"sourceReplacements" doc:"Literal string to replace in source files, in memory, before the build."`
	Images             []Image             `yaml:"images" doc:"Images to set in the built components."`
	Patches            []Patch             `yaml:"patches" doc:"Kustomize patches over the built components."`
	Replacements       []Replacement       `yaml:"replacements" doc:"Literal string to replace in finished output files."`
	Templates          []Template          `yaml:"templates" doc:"The cluster templates. An empty list means that there are none."`
	ClusterClasses     []ClusterClass      `yaml:"clusterClasses" doc:"The ClusterClass files. An empty list means that there are none."`
	Assets             []Asset             `yaml:"assets" doc:"Other files of the release."`
}

func (p Provider) Label() string {
	t, _ := layouts.TypeByWord(p.Type)
	return layouts.Provider{Type: t, Name: p.Name}.Label()
}

// Components says where the components file comes from.
type Components struct {
	Origin `yaml:"-"`

	Path           string         `yaml:"path" is:"path" doc:"The folder of the kustomization to build, or a finished manifest."`
	File           string         `yaml:"file" is:"file" doc:"The name in the release; the recommended name of the provider type if absent, such as infrastructure-components.yaml."`
	LoadRestrictor loadRestrictor `yaml:"loadRestrictor" enum:"root-only,none" doc:"Whether a kustomization may load files from outside its folder; root-only if absent."`
}

// loadRestrictor is the policy of kustomize for files outside the folder of a
// kustomization. The zero value is rootOnly.
type loadRestrictor string

// The policies of kustomize's --load-restrictor flag.
const (
	rootOnly       loadRestrictor = "root-only"
	NoRestrictions loadRestrictor = "none"
)

// SourceReplacement changes a source file for the build, without touching the
// disk. It is for texts that kustomize copies around before an image could be
// set in the output.
type SourceReplacement struct {
	Origin `yaml:"-"`

	File string `yaml:"file" required:"true" is:"path" doc:"The source file."`
	Old  string `yaml:"old" required:"true" doc:"The string to replace, as it is in the file."`
	New  string `yaml:"new" is:"string" doc:"The replacement. {version} stands for the version of the release, {number} for the same without its v."`
}

// Image sets an image by its old name, in containers and init containers.
type Image struct {
	Origin `yaml:"-"`

	Name       string  `yaml:"name" required:"true" doc:"The image name to look for, without tag and digest. Environment variables of the object that hold the same image, with its tag, get the new one too."`
	NewName    string  `yaml:"newName" is:"string" doc:"The new image name; unchanged if absent."`
	NewTag     string  `yaml:"newTag" is:"string" doc:"The new tag, often {version}."`
	Digest     string  `yaml:"digest" is:"digest" doc:"The new digest, instead of a tag."`
	PullPolicy string  `yaml:"pullPolicy" enum:"Always,IfNotPresent,Never" doc:"The imagePullPolicy of the containers whose image was replaced."`
	Keep       bool    `yaml:"keep" doc:"The image is intended, although release refuses an image of the manager that is not set here and whose tag is not the version."`
	Places     []Place `yaml:"places" doc:"Other places that hold this image, its name or its tag."`
}

// Place is a value outside the image field of a container.
type Place struct {
	Origin `yaml:"-" one:"env,key"`

	Kind  string `yaml:"kind" required:"true" doc:"The kind of the object, such as Deployment, Secret or ConfigMap."`
	Name  string `yaml:"name" doc:"The name of the object; every object of the kind if absent."`
	Env   string `yaml:"env" doc:"An environment variable of its containers."`
	Key   string `yaml:"key" doc:"A key of the data of a Secret or ConfigMap."`
	Value string `yaml:"value" is:"string" doc:"What to write there; {image} if absent. {image}, {tag}, {version} and {number} are filled in."`
}

// Patch is one entry of kustomize's patches field, inline.
type Patch struct {
	Origin `yaml:"-"`

	Target Selector `yaml:"target" doc:"The objects to patch; needed for a JSON 6902 patch."`
	Patch  string   `yaml:"patch" required:"true" doc:"A strategic merge patch, or a list of JSON 6902 operations."`
}

// Selector chooses objects as kustomize does: every given field has to match,
// names are anchored regular expressions.
type Selector struct {
	Origin `yaml:"-"`

	Group              string `yaml:"group" doc:"API group."`
	Version            string `yaml:"version" doc:"API version."`
	Kind               string `yaml:"kind" doc:"Kind."`
	Name               string `yaml:"name" doc:"Name, as an anchored regular expression."`
	Namespace          string `yaml:"namespace" doc:"Namespace, as an anchored regular expression."`
	LabelSelector      string `yaml:"labelSelector" doc:"Label selector."`
	AnnotationSelector string `yaml:"annotationSelector" doc:"Selector over annotations, written like a label selector."`
}

// Fields are those of the selector that are given, by their keys.
func (s Selector) Fields() map[string]any {
	out := map[string]any{}
	v := reflect.ValueOf(s)
	for _, f := range fieldsOf(v.Type()) {
		if text := v.Field(f.index).String(); text != "" {
			out[f.key] = text
		}
	}
	return out
}

// Replacement changes the text of outputs. It is the last step. That none of
// the outputs holds the text is an error of the build.
type Replacement struct {
	Origin `yaml:"-"`

	Files string `yaml:"files" required:"true" is:"glob" doc:"The names of the output files, with * for any text."`
	Old   string `yaml:"old" required:"true" doc:"The string to replace, as it is in the output."`
	New   string `yaml:"new" is:"string" doc:"The replacement; {version} and {number} are filled in."`
}

// Template selects the sources of cluster templates. Exactly one of Files and
// Kustomize is set.
type Template struct {
	Origin `yaml:"-" one:"files,kustomize"`

	Files          string              `yaml:"files" is:"glob" doc:"Finished templates, such as templates/cluster-template*.yaml."`
	Kustomize      string              `yaml:"kustomize" is:"glob" doc:"Folders of kustomizations, such as templates/flavors/*."`
	Exclude        []string            `yaml:"exclude" is:"glob" doc:"What the pattern finds but should not."`
	Name           string              `yaml:"flavor" is:"pattern" doc:"The flavor, with {1}, {2} for what the stars of the pattern stand for. If absent: for files the part after cluster-template- of their name, for kustomizations the stars joined by dashes. A part \"default\" is left out; the flavor \"default\" is cluster-template.yaml."`
	Rename         map[string]string   `yaml:"rename" doc:"Flavors to rename."`
	Aliases        map[string][]string `yaml:"aliases" doc:"Flavors to also write under further names."`
	LoadRestrictor loadRestrictor      `yaml:"loadRestrictor" enum:"root-only,none" doc:"Whether a kustomization may load files from outside its folder; root-only if absent."`
}

// ClusterClass selects the sources of ClusterClass files. It is a Template with
// another key for the name, and converts to one.
type ClusterClass struct {
	Origin `yaml:"-" one:"files,kustomize"`

	Files          string              `yaml:"files" is:"glob" doc:"Finished files, such as templates/clusterclass-*.yaml."`
	Kustomize      string              `yaml:"kustomize" is:"glob" doc:"Folders of kustomizations, such as templates/clusterclasses/*."`
	Exclude        []string            `yaml:"exclude" is:"glob" doc:"What the pattern finds but should not."`
	Name           string              `yaml:"class" is:"pattern" doc:"The name of the class, with {1}, {2} for what the stars of the pattern stand for. If absent: for files the part after clusterclass- of their name, for kustomizations the stars joined by dashes."`
	Rename         map[string]string   `yaml:"rename" doc:"Classes to rename."`
	Aliases        map[string][]string `yaml:"aliases" doc:"Classes to also write under further names."`
	LoadRestrictor loadRestrictor      `yaml:"loadRestrictor" enum:"root-only,none" doc:"Whether a kustomization may load files from outside its folder; root-only if absent."`
}

// Asset is a file of a release that clusterctl does not read. Exactly one of
// Files, Concat and Run is set.
type Asset struct {
	Origin `yaml:"-" one:"files,concat,run"`

	Files   string   `yaml:"files" is:"glob" doc:"Files to copy."`
	Exclude []string `yaml:"exclude" is:"glob" doc:"What the pattern finds but should not."`
	Concat  []Part   `yaml:"concat" doc:"Files to concatenate into one, in this order, as documents of one YAML stream."`
	Run     []string `yaml:"run" doc:"A command whose output becomes the file; runs only with --allow exec."`
	Name    string   `yaml:"name" is:"pattern" doc:"The name in the release, with {1}, {2} for what the stars of the pattern stand for and {version}; the name of the source if absent."`
}

// Part is one piece of a joined asset: a source file, or an output of the same
// build.
type Part struct {
	Origin `yaml:"-" one:"file,output"`

	File   string `yaml:"file" is:"path" doc:"A source file."`
	Output string `yaml:"output" is:"path" doc:"An output as <label>/<file>, such as cluster-api/core-components.yaml."`
}

// severity is what a finding of a rule counts as.
type severity string

// The severities a configuration can give.
const (
	severityOff     severity = "off"
	severityInfo    severity = "info"
	severityWarning severity = "warning"
	severityError   severity = "error"
)

// Destination is a place to publish to.
type Destination struct {
	Origin `yaml:"-"`

	To        string   `yaml:"to" required:"true" doc:"A folder, https://github.com/OWNER/REPO, https://gitlab.HOST/GROUP/PROJECT or oci://HOST/REPO."`
	Providers []string `yaml:"providers" doc:"The labels of the providers that go there; all if absent."`
	Files     []string `yaml:"files" is:"glob" doc:"The names of the files that go there; all if absent."`
}
