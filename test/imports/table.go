package imports

// layers has every package of the project in the direction of imports: a package
// may know those of its own layer and of the layers above it in this list. The
// longest pattern that covers a package decides.
var layers = []layer{
	{"the conventions", "layouts"},
	{"text, files and the model", "repo repo/parallel repo/source/... repo/text/..."},
	{"Kubernetes", "repo/kube/..."},
	{"Cluster API", "repo/capi/..."},
	{"what releases take part in", "repo/extension/... repo/move/... repo/trust/..."},
	{"facts", "repo/facts/..."},
	{"the engine of lint", "repo/lint"},
	{"the rules", "repo/extension/checks repo/lint/..."},
	{"reports", "repo/report/..."},
	{"the network", "repo/extension/probe"},
	{"source trees", "layouts/..."},
	{"making and publishing releases", "publish/... transform/..."},
	{"the command line", "cmd/internal/..."},
	{"the entry of the program", "cmd/clusterctl-repo"},
	{"tests", "examples/... test/..."},
}

// principles forbid what the layers would allow.
var principles = []principle{
	{of: "transform/...", not: "publish/...", why: "Data flows from transform through the model to publish, never back."},
	{of: "publish/...", not: "transform/...", why: "A destination takes releases whoever made them."},
	{of: "publish/...", except: "publish/open publish/github", not: "publish/github/...", why: eachAlone},
	{of: "publish/...", except: "publish/open publish/gitlab", not: "publish/gitlab/...", why: eachAlone},
	{of: "publish/...", except: "publish/open publish/mirror publish/local", not: "publish/local/...", why: eachAlone},
	{of: "publish/...", except: "publish/open publish/oci", not: "publish/oci/...", why: eachAlone},
	{of: "repo/kube/... repo/capi/... repo/facts/... repo/lint/... repo/report/...", except: "repo/lint/rules/examples", not: "repo/source/...",
		why: "What judges and reports is given bytes; where they come from is up to the caller."},
	{of: "repo/report/...", not: "repo/lint/rules/...", why: "A format shows findings of any rule."},
	{of: "layouts/...", not: "repo/facts/... repo/lint/... repo/report/...", why: "The conventions of source trees judge nothing."},
	{of: "cmd/clusterctl-repo", not: "layouts/... publish/... repo/... transform/...", why: "The entry knows signals and the exit code; the work is cmd/internal's."},
	{of: "examples/... test/cluster/... test/fakes/... test/live/... test/oracle/real/...", not: "cmd/... layouts/... publish/... repo/... transform/...",
		why: "What the program is compared with must not share its code, or both would be wrong together."},
}

const eachAlone = "Each kind of destination works without the others; publish/open chooses one."

// apart has folders whose packages do not know each other.
var apart = map[string]string{
	"repo/lint/rules": "A subject of rules stands alone; repo/lint/rules/internal holds what several subjects read.",
}

// libraries has the modules of others, and the packages of the standard library
// that reach beyond memory and files, each with the packages that may import it.
// Tests, and the modules below test, use what they need.
var libraries = []library{
	{"github.com/spf13/cobra github.com/spf13/pflag", "cmd/...", "Flags belong to the command line."},
	{"log", "cmd/...", "Only the command line prints."},
	{"os/signal", "cmd/clusterctl-repo", "Signals belong to the command line."},
	{"github.com/rogpeppe/go-internal", "repo/text/edit", "Scripts are for tests, and one package compares texts."},
	{"os/exec", "repo/source/program", "One package runs programs, so that all of them stop when they must."},
	{"syscall", "cmd/clusterctl-repo publish/local publish/mirror repo/extension/probe repo/source/files repo/source/program", "What differs between systems stays in few places."},
	{"golang.org/x/sys", "publish/local", "What differs between systems stays in few places."},
	{"golang.org/x/term", "cmd/internal/term", "One package knows the terminal."},
	{"net/http crypto/tls", "cmd/internal/... publish/github publish/gitlab publish/oci publish/open publish/transport repo/extension/probe",
		"The library works without the network, except for destinations and the probe of extensions."},
	{"net", "publish/oci publish/transport repo/extension/probe repo/kube/crd repo/lint/rules/templates", "Below publish, only addresses are parsed."},
	{"github.com/google/go-github/v60", "publish/github", ownSDK},
	{"github.com/xanzy/go-gitlab github.com/hashicorp/go-retryablehttp", "publish/gitlab", ownSDK},
	{"oras.land/oras-go/v2 github.com/opencontainers/go-digest golang.org/x/net", "publish/oci", ownSDK},
	{"github.com/opencontainers/image-spec", "publish/oci", ownSDK},
	{"go.yaml.in/yaml/v2 go.yaml.in/yaml/v4 sigs.k8s.io/yaml", "repo/text/yamldoc",
		"One package parses YAML, so that every value has a position and is what clusterctl reads."},
	{"github.com/drone/envsubst/v2", "repo/text/vars transform/clusterctl", "One package reads variables; the settings of clusterctl have rules of their own."},
	{"github.com/distribution/reference", "repo/text/imageref", "One package takes references to images apart."},
	{"github.com/spf13/viper", "transform/clusterctl", "Only the settings of clusterctl are read as viper does."},
	{"sigs.k8s.io/kustomize/api sigs.k8s.io/kustomize/kyaml", "transform/kustomize", "One package knows kustomize, and confines it to the source tree."},
	{"github.com/Masterminds/sprig/v3", "repo/capi/patch", "Only patches of ClusterClasses are templates."},
	{"github.com/evanphx/json-patch/v5", "repo/capi/patch repo/extension", "Only patches of ClusterClasses are JSON patches."},
	{"github.com/Masterminds/semver/v3", "layouts publish/mirror", "Versions of releases are compared as clusterctl does."},
	{"github.com/blang/semver/v4", "repo/capi/clusterclass repo/extension repo/lint/rules/classes repo/lint/rules/templates",
		"Versions of Kubernetes are compared as Cluster API does."},
	{"sigs.k8s.io/json", "repo/capi/metadata repo/extension", "What Kubernetes reads as JSON is read as it does."},
	{"k8s.io/apimachinery", "repo/capi/... repo/extension/... repo/kube/... repo/lint/rules/... transform/...", "The types of Kubernetes stay above the model."},
	{"k8s.io/api k8s.io/apiextensions-apiserver", "transform/clusterctl", "Only what renders as clusterctl does needs its types."},
	{"sigs.k8s.io/cluster-api/api", "transform/clusterctl transform/topology", "Only what renders as clusterctl or Cluster API does needs their types."},
	{"golang.org/x/tools", "repo/lint/rules/examples", "The examples of rules are txtar archives."},
}

const ownSDK = "One package knows an SDK, so that replacing it changes one package."

// Folders has the directories that group packages and have no package, whose
// comment would say what belongs there.
var Folders = []Folder{
	{"cmd", "flags, printing, the environment and exit codes", "work that another Go program could want"},
	{"cmd/internal", "the parts of the command line", "anything below cmd imports"},
	{"repo/capi", "what Cluster API itself defines: contracts, metadata, its own kinds, ClusterClasses", "verdicts"},
	{"repo/facts", "what is true of a release, or differs between two", "verdicts"},
	{"repo/kube", "what Kubernetes itself defines: CRDs, schemas, types", "Cluster API"},
	{"repo/lint/rules/internal", "what several subjects of rules read", "any single rule"},
	{"repo/source", "reading files and folders that are not trusted", "what is in the files"},
	{"repo/text", "text as clusterctl reads it: variables, YAML, documents", "Kubernetes kinds"},
	{"repo/trust", "signatures", "where keys come from"},
	{"test", "what proves the program: oracles, fakes, measurements, the law", "code that users run"},
	{"test/fakes/internal", "what the fakes share", "any protocol"},
}
