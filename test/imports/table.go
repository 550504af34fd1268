package imports

// Folders has every directory that groups packages, sorted by path.
var Folders = []Folder{
	{
		Path:  "cmd",
		Holds: "flags, printing, the environment and exit codes",
		Never: "work that another Go program could want",
	},
	{
		Path:  "cmd/internal",
		Holds: "the parts of the command line",
		Never: "anything below cmd imports",
	},
	{
		Path:  "examples",
		Holds: "provider sources to copy from",
		Never: "code that the program runs",
	},
	{
		Path:  "layouts",
		Holds: "the conventions of provider repositories and of source trees",
		Never: "building, judging or publishing",
	},
	{
		Path:  "publish",
		Holds: "destinations and what leads releases to them",
		Never: "how a release was made or whether it is sound",
	},
	{
		Path:  "repo",
		Holds: "the model of releases and everything that reads or judges them",
		Never: "building and publishing",
	},
	{
		Path:  "repo/behaviour",
		Holds: "how controllers behave: the checks, the judge, recordings",
		Never: "the network",
	},
	{
		Path:  "repo/capi",
		Holds: "what Cluster API itself defines: contracts, metadata, its own kinds, ClusterClasses",
		Never: "verdicts",
	},
	{
		Path:  "repo/extension",
		Holds: "the Runtime SDK: its data, requests, checks and the probe",
		Never: "rules of lint",
	},
	{
		Path:  "repo/facts",
		Holds: "what is true of a release, or differs between two",
		Never: "verdicts",
	},
	{
		Path:  "repo/kube",
		Holds: "what Kubernetes itself defines: CRDs, schemas, types",
		Never: "Cluster API",
	},
	{
		Path:  "repo/lint",
		Holds: "the engine, the rules and what acts on findings",
		Never: "how findings are printed",
	},
	{
		Path:  "repo/lint/rules",
		Holds: "the catalogue of rules, with a package for each subject",
		Never: "the engine",
	},
	{
		Path:  "repo/lint/rules/internal",
		Holds: "what is written from the catalogue",
		Never: "any single rule",
	},
	{
		Path:  "repo/live",
		Holds: "management clusters as they are: what a move depends on, and what happens",
		Never: "what it means",
	},
	{
		Path:  "repo/migrate",
		Holds: "the way of manifests from one contract of Cluster API to the next",
		Never: "printing, verdicts about releases",
	},
	{
		Path:  "repo/move",
		Holds: "what clusterctl move does: reading the objects, and the walk",
		Never: "network, printing",
	},
	{
		Path:  "repo/report",
		Holds: "results in every output format",
		Never: "computing results",
	},
	{
		Path:  "repo/report/internal",
		Holds: "the elements and pictures that formats are made of",
		Never: "what they show",
	},
	{
		Path:  "repo/source",
		Holds: "reading files and folders that are not trusted",
		Never: "what is in the files",
	},
	{
		Path:  "repo/text",
		Holds: "text as clusterctl reads it: variables, YAML, documents",
		Never: "Kubernetes kinds",
	},
	{
		Path:  "repo/trust",
		Holds: "provenance and signatures",
		Never: "where keys come from",
	},
	{
		Path:  "test",
		Holds: "what proves the program: oracles, fakes, measurements, the law",
		Never: "code that users run",
	},
	{
		Path:  "test/cluster",
		Holds: "the proof against a real API server",
		Never: "the implementation of rules",
	},
	{
		Path:  "test/cluster/server",
		Holds: "the API server of the tests",
		Never: "what is tested",
	},
	{
		Path:  "test/conformance",
		Holds: "the proof against the programs of others",
		Never: "the implementation of publishing",
	},
	{
		Path:  "test/dist",
		Holds: "what makes and checks the releases of this project",
		Never: "the work of the program",
	},
	{
		Path:  "test/documents",
		Holds: "tests of what people read",
		Never: "what it is about",
	},
	{
		Path:  "test/live",
		Holds: "the proof with the real controllers of Cluster API",
		Never: "how behaviour is judged",
	},
	{
		Path:  "test/fakes",
		Holds: "servers on loopback with faults as data",
		Never: "their clients",
	},
	{
		Path:  "test/fakes/internal",
		Holds: "what the fakes share",
		Never: "any protocol",
	},
	{
		Path:  "test/imports",
		Holds: "the map of the tree and its tests",
		Never: "what packages do",
	},
	{
		Path:  "test/oracle",
		Holds: "the proof against clusterctl and Cluster API",
		Never: "the implementation of anything",
	},
	{
		Path:  "test/oracle/bench",
		Holds: "measurements of the budgets",
		Never: "what is measured",
	},
	{
		Path:  "test/oracle/bench/internal",
		Holds: "what the measuring programs share",
		Never: "what is measured",
	},
	{
		Path:  "transform",
		Holds: "everything that turns one form of a release into another",
		Never: "publishing",
	},
	{
		Path:  "transform/clusterctl",
		Holds: "what clusterctl makes of a release and of its own configuration",
		Never: "the environment",
	},
}

// Packages has every package of the project, those of nested modules too,
// sorted by path. `make new-package` adds a row.
var Packages = []Package{
	{
		Path:      "cmd/clusterctl-repo",
		Holds:     "the program's entry: signals and the exit code",
		Never:     "verbs, flags or the work",
		Knows:     `cmd/internal/cli cmd/internal/memory`,
		Libraries: `os/signal syscall`,
	},
	{
		Path:  "cmd/internal/cli",
		Holds: "one file per verb: flags, printing, environment, exit codes",
		Never: "how the work is done",
		Knows: `cmd/internal/memory
			cmd/internal/term
			layouts repo
			layouts/config
			publish
			publish/bundle
			publish/images
			publish/local
			publish/mirror
			publish/open
			publish/survey
			publish/transport
			repo/behaviour repo/behaviour/record
			repo/capi/clusterclass repo/capi/contract repo/capi/coreapi repo/capi/metadata
			repo/extension repo/extension/probe repo/extension/registration repo/extension/request
			repo/facts/diff repo/facts/fleet repo/facts/inventory
			repo/kube/crd
			repo/lint repo/lint/contractcheck repo/lint/fix repo/lint/rules
			repo/lint/rules/examples
			repo/live repo/live/drive repo/live/watch
			repo/migrate repo/migrate/effect repo/migrate/table
			repo/move/owners repo/move/snapshot
			repo/report
			repo/source/files repo/source/folder repo/source/git repo/source/program
			repo/text/manifest repo/text/pattern repo/text/yamldoc
			repo/trust/policy repo/trust/provenance repo/trust/sign
			transform
			transform/cache
			transform/check
			transform/clusterctl
			transform/clusterctl/config
			transform/declare
			transform/propose
			transform/sourcetree
			transform/verdict`,
		Libraries: `crypto/tls github.com/spf13/cobra github.com/spf13/pflag log net/http`,
	},
	{
		Path:      "cmd/internal/memory",
		Holds:     "how much memory the process takes, and when garbage is collected",
		Never:     "what the process does",
		Libraries: `golang.org/x/sys`,
	},
	{
		Path:      "cmd/internal/profile",
		Holds:     "the program that records where the time goes, for the compiler",
		Never:     "verbs, flags or the work",
		Knows:     `cmd/internal/cli cmd/internal/memory`,
		Libraries: `flag`,
	},
	{
		Path:  "cmd/internal/term",
		Holds: "the decision whether to colour, and the escape codes",
		Never: "what is printed",
	},
	{
		Path:  "examples",
		Holds: "one provider source per provider type, each an acceptance test",
		Never: "the code of this project",
	},
	{
		Path:  "examples/acme-runtime-extension",
		Holds: "an example Runtime Extension server, in a module of its own",
		Never: "the code of this project",
	},
	{
		Path:      "layouts",
		Holds:     "the conventions as tables and pure functions: provider types, labels, file names, versions, URLs, kinds",
		Never:     "what files contain, or any disk",
		Libraries: `github.com/Masterminds/semver/v3`,
	},
	{
		Path:  "layouts/config",
		Holds: "clusterctl-repo.yaml: structs, strict decoding with positions, the schema, patterns resolved to a plan",
		Never: "how anything is built",
		Knows: `layouts repo/text/pattern repo/text/yamldoc`,
	},
	{
		Path:  "layouts/detect",
		Holds: "what a source tree is, by convention, with the reason for each conclusion",
		Never: "how anything is built",
		Knows: `layouts layouts/config repo/text/pattern repo/text/yamldoc`,
	},
	{
		Path:      "layouts/recipes",
		Holds:     "what Makefiles, workflows and scripts do to make a release, read and not run",
		Never:     "what folders hold, how anything is built",
		Knows:     `repo/text/pattern repo/text/yamldoc`,
		Libraries: `mvdan.cc/sh/v3`,
	},
	{
		Path:  "publish",
		Holds: "what every destination can do, sites that give each provider its destination, dry runs, records and progress",
		Never: "how a release was made, or whether it is sound",
		Knows: `layouts repo repo/capi/metadata repo/text/manifest repo/text/pattern repo/text/yamldoc`,
	},
	{
		Path:  "publish/bundle",
		Holds: "a mirror as one file that is carried over a gap",
		Never: "what the files are for, the network",
		Knows: `layouts publish/mirror repo repo/source/files`,
	},
	{
		Path:  "publish/claim",
		Holds: "how publishers of one version agree on one content where names cannot be set only once",
		Never: "how marks are kept, any server",
		Knows: `publish`,
	},
	{
		Path:  "publish/converge",
		Holds: "the machine that all servers share: look, decide by a table, act, look again",
		Never: "any destination",
		Knows: `publish publish/transport`,
	},
	{
		Path:      "publish/github",
		Holds:     "the destination GitHub releases",
		Never:     "other destinations, credentials, what the files mean",
		Knows:     `layouts publish publish/converge publish/transport repo`,
		Libraries: `github.com/google/go-github/v60 net/http`,
	},
	{
		Path:      "publish/gitlab",
		Holds:     "the destination GitLab generic packages",
		Never:     "other destinations, credentials, what the files mean",
		Knows:     `layouts publish publish/claim publish/converge publish/transport repo`,
		Libraries: `github.com/hashicorp/go-retryablehttp github.com/xanzy/go-gitlab net/http`,
	},
	{
		Path:      "publish/images",
		Holds:     "the container images of a mirror, from registries into a layout and from there to a site's registry",
		Never:     "what the images are for, credentials",
		Knows:     `layouts publish/mirror publish/oci repo repo/text/imageref`,
		Libraries: `github.com/opencontainers/image-spec`,
	},
	{
		Path:      "publish/local",
		Holds:     "the destination folder: staged, synced, visible by one rename",
		Never:     "other destinations, the network",
		Knows:     `layouts publish repo repo/source/folder`,
		Libraries: `golang.org/x/sys syscall`,
	},
	{
		Path:  "publish/mirror",
		Holds: "copying releases between places, with what an air-gapped site needs beside them",
		Never: "flags, printing, any one kind of destination",
		Knows: `layouts publish repo
			repo/capi/metadata
			repo/facts/inventory
			repo/source/files
			repo/text/imageref repo/text/pattern repo/text/yamldoc`,
		Libraries: `github.com/Masterminds/semver/v3 syscall`,
	},
	{
		Path:  "publish/oci",
		Holds: "the destination OCI registry",
		Never: "other destinations, what the files mean",
		Knows: `layouts publish publish/claim publish/converge publish/transport repo`,
		Libraries: `github.com/opencontainers/go-digest github.com/opencontainers/image-spec
			golang.org/x/net
			net
			net/http
			oras.land/oras-go/v2`,
	},
	{
		Path:      "publish/open",
		Holds:     "destinations and targets on servers, opened from their URLs, and which server sees which credential",
		Never:     "what is done with them",
		Knows:     `layouts publish publish/github publish/gitlab publish/local publish/oci publish/transport`,
		Libraries: `net/http`,
	},
	{
		Path:  "publish/survey",
		Holds: "the walk over the newest releases of many providers, in shards, and what was judged so far",
		Never: "rules, flags, formats",
		Knows: `layouts publish repo repo/capi/metadata repo/facts/fleet repo/text/yamldoc`,
	},
	{
		Path:      "publish/transport",
		Holds:     "HTTP: credentials for one host, waiting, safe repeats, resumed downloads",
		Never:     "what the requests mean",
		Knows:     `publish`,
		Libraries: `crypto/tls net net/http`,
	},
	{
		Path:  "repo",
		Holds: "the model: Repository, Provider, Release, Artifact, checksums",
		Never: "where releases come from or go to",
		Knows: `layouts repo/source/files repo/text/yamldoc`,
	},
	{
		Path:  "repo/behaviour",
		Holds: "what controllers must do, as checks, and the judge of a stream of versions",
		Never: "the network, any clock but that of the stream",
		Knows: `repo/behaviour/record
			repo/capi/contract
			repo/lint
			repo/text/yamldoc`,
	},
	{
		Path:  "repo/behaviour/record",
		Holds: "recordings of a management cluster: reading, writing, values, differences",
		Never: "what the objects mean",
	},
	{
		Path:  "repo/capi/clusterclass",
		Holds: "a ClusterClass in either API version as one view: variables, patches, templates in it",
		Never: "rules",
		Knows: `repo/capi/contract repo/capi/coreapi
			repo/kube/cel repo/kube/crd repo/kube/openapi
			repo/text/manifest repo/text/yamldoc`,
		Libraries: `github.com/blang/semver/v4 k8s.io/apimachinery`,
	},
	{
		Path:  "repo/capi/contract",
		Holds: "the contracts of Cluster API as tables: labels, roles, fields, profiles",
		Never: "rules, files, reports",
		Knows: `repo/kube/crd`,
	},
	{
		Path:  "repo/capi/coreapi",
		Holds: "the schemas of Cluster API's own kinds, generated",
		Never: "rules, or what the fields are for",
		Knows: `repo/kube/crd repo/text/yamldoc`,
	},
	{
		Path:      "repo/capi/metadata",
		Holds:     "metadata.yaml, the version \"latest\" stands for, the upgrade plan",
		Never:     "where files come from",
		Knows:     `layouts repo/text/yamldoc`,
		Libraries: `k8s.io/apimachinery sigs.k8s.io/json`,
	},
	{
		Path:  "repo/capi/patch",
		Holds: "what the inline patches of a ClusterClass make of its templates, as Cluster API computes it",
		Never: "rules, releases, where the Cluster comes from",
		Knows: `repo/capi/clusterclass
			repo/text/yamldoc`,
		Libraries: `github.com/Masterminds/sprig/v3 github.com/evanphx/json-patch/v5`,
	},
	{
		Path:  "repo/extension",
		Holds: "the Runtime SDK as data: hooks, answers, discovery, patches, upgrade plans, the OpenAPI document",
		Never: "the network, checks",
		Knows: `repo/capi/clusterclass repo/capi/contract repo/capi/patch
			repo/kube/openapi
			repo/text/manifest repo/text/yamldoc`,
		Libraries: `github.com/blang/semver/v4 github.com/evanphx/json-patch/v5 k8s.io/apimachinery`,
	},
	{
		Path:  "repo/extension/checks",
		Holds: "what running extensions are checked for, as a table",
		Never: "the network, how anything is checked",
		Knows: `repo/extension
			repo/lint`,
	},
	{
		Path:  "repo/extension/probe",
		Holds: "calls to a running extension as Cluster API makes them, judged by the checks",
		Never: "printing, releases",
		Knows: `repo/capi/clusterclass repo/capi/patch
			repo/extension repo/extension/checks repo/extension/request
			repo/kube/crd repo/kube/openapi
			repo/lint
			repo/text/manifest repo/text/yamldoc`,
		Libraries: `crypto/tls net net/http syscall`,
	},
	{
		Path:      "repo/extension/registration",
		Holds:     "how a released extension is reached, and its ExtensionConfig",
		Never:     "rules, releases, the network",
		Knows:     `repo/text/manifest repo/text/yamldoc`,
		Libraries: `k8s.io/apimachinery`,
	},
	{
		Path:  "repo/extension/request",
		Holds: "the requests that Cluster API would send to a hook",
		Never: "the network, answers",
		Knows: `layouts repo
			repo/capi/clusterclass repo/capi/contract repo/capi/patch
			repo/extension
			repo/kube/crd repo/kube/openapi
			repo/text/manifest repo/text/yamldoc`,
		Libraries: `github.com/blang/semver/v4`,
	},
	{
		Path:  "repo/facts/diff",
		Holds: "what changes for users between two releases",
		Never: "where releases come from, or whether one release is sound",
		Knows: `layouts repo
			repo/capi/clusterclass repo/capi/contract repo/capi/metadata
			repo/facts/inventory
			repo/kube/crd repo/kube/openapi
			repo/migrate repo/migrate/table
			repo/parallel
			repo/text/manifest repo/text/yamldoc`,
	},
	{
		Path:  "repo/facts/fleet",
		Holds: "what a survey finds of many providers, and its shards joined",
		Never: "how releases are read or judged",
	},
	{
		Path:  "repo/facts/inventory",
		Holds: "the variables and images of a release",
		Never: "printing, verdicts",
		Knows: `layouts repo repo/text/imageref repo/text/manifest repo/text/vars repo/text/yamldoc`,
	},
	{
		Path:      "repo/kube/cel",
		Holds:     "what the API server says about rules in CEL: types, costs, values that break them",
		Never:     "rules of lint, what the schemas are for",
		Knows:     `repo/text/yamldoc`,
		Libraries: `github.com/google/cel-go k8s.io/apimachinery k8s.io/apiserver`,
	},
	{
		Path:  "repo/kube/crd",
		Holds: "a CustomResourceDefinition: names, versions, what its schema says about a field",
		Never: "contracts, verdicts",
		Knows: `repo/text/manifest repo/text/yamldoc`,
	},
	{
		Path:      "repo/kube/gotypes",
		Holds:     "whether a document fits a Go type of an API, with places",
		Never:     "what the types mean",
		Knows:     `layouts repo/text/yamldoc`,
		Libraries: `k8s.io/apimachinery`,
	},
	{
		Path:      "repo/kube/objectmeta",
		Holds:     "what the API server has against names, labels and annotations",
		Never:     "rules, the kinds of Cluster API",
		Knows:     `repo/text/yamldoc`,
		Libraries: `k8s.io/apimachinery`,
	},
	{
		Path:  "repo/kube/openapi",
		Holds: "whether a value fits an OpenAPI schema as the API server sees it, with places",
		Never: "what the schema is for",
		Knows: `repo/kube/crd
			repo/text/yamldoc`,
		Libraries: `net`,
	},
	{
		Path:  "repo/kube/structural",
		Holds: "whether the API server accepts the schema of a CRD, as typed violations",
		Never: "rules, roles of kinds",
		Knows: `repo/kube/crd
			repo/text/yamldoc`,
	},
	{
		Path:  "repo/lint",
		Holds: "the engine: runs rules over releases, collects findings, applies comments that silence rules",
		Never: "any rule, how findings are printed",
		Knows: `layouts repo
			repo/capi/contract repo/capi/metadata
			repo/kube/crd
			repo/parallel
			repo/text/manifest repo/text/yamldoc`,
	},
	{
		Path:  "repo/lint/contractcheck",
		Holds: "the verdict on CRDs without a release around them, also for the tests of providers",
		Never: "where the definitions come from, printing",
		Knows: `layouts
			repo
			repo/capi/contract
			repo/kube/crd
			repo/lint
			repo/lint/rules repo/lint/rules/contracts repo/lint/rules/definitions
			repo/text/manifest repo/text/yamldoc`,
	},
	{
		Path:  "repo/lint/fix",
		Holds: "the edits of findings, made so that nothing but the intended values changes",
		Never: "rules, how a result is linted again",
		Knows: `repo/lint repo/text/pattern repo/text/yamldoc`,
	},
	{
		Path:  "repo/lint/rules",
		Holds: "the catalogue of all rules, found by ID or family",
		Never: "any check, files, printing",
		Knows: `layouts
			repo/behaviour
			repo/extension/checks
			repo/lint
			repo/lint/rules/classes repo/lint/rules/components repo/lint/rules/contracts repo/lint/rules/definitions repo/lint/rules/extensions repo/lint/rules/repository repo/lint/rules/templates repo/lint/rules/text`,
	},
	{
		Path:  "repo/lint/rules/classes",
		Holds: "rules about ClusterClasses: files, references, variables, patches",
		Never: "other subjects, printing",
		Knows: `layouts
			repo/capi/clusterclass repo/capi/contract repo/capi/coreapi repo/capi/patch
			repo/extension/request
			repo/kube/crd repo/kube/objectmeta repo/kube/openapi
			repo/lint
			repo/lint/rules/internal/view
			repo/text/manifest repo/text/vars repo/text/yamldoc`,
		Libraries: `github.com/blang/semver/v4 k8s.io/apimachinery`,
	},
	{
		Path:  "repo/lint/rules/components",
		Holds: "rules about what an installation brings: objects, workloads, access, webhooks",
		Never: "other subjects, printing",
		Knows: `layouts
			repo/capi/contract
			repo/kube/crd repo/kube/gotypes
			repo/lint
			repo/lint/rules/internal/view
			repo/text/imageref repo/text/manifest repo/text/yamldoc`,
	},
	{
		Path:  "repo/lint/rules/contracts",
		Holds: "rules about CRDs by their role in the provider contracts",
		Never: "other subjects, printing",
		Knows: `layouts
			repo/capi/contract
			repo/kube/crd
			repo/lint
			repo/lint/rules/internal/view
			repo/text/manifest repo/text/yamldoc`,
	},
	{
		Path:  "repo/lint/rules/definitions",
		Holds: "rules about CRDs whatever their role",
		Never: "other subjects, printing",
		Knows: `repo/capi/contract
			repo/kube/cel repo/kube/crd repo/kube/objectmeta repo/kube/openapi repo/kube/structural
			repo/lint
			repo/lint/rules/internal/view
			repo/text/yamldoc`,
	},
	{
		Path:      "repo/lint/rules/examples",
		Holds:     "an example for every rule: a repository that breaks it, the same in order, the proof",
		Never:     "rules",
		Knows:     `layouts repo/capi/metadata`,
		Libraries: `golang.org/x/tools`,
	},
	{
		Path:  "repo/lint/rules/extensions",
		Holds: "rules about releases of runtime extensions",
		Never: "other subjects, the network, printing",
		Knows: `layouts
			repo/lint
			repo/lint/rules/internal/view
			repo/text/manifest repo/text/yamldoc`,
		Libraries: `k8s.io/apimachinery`,
	},
	{
		Path:  "repo/lint/rules/internal/gendocs",
		Holds: "the rule pages of the documentation",
		Never: "any single rule",
		Knows: `repo/lint repo/lint/rules
			repo/lint/rules/examples
			repo/source/folder`,
	},
	{
		Path:  "repo/lint/rules/internal/view",
		Holds: "what rules of several subjects read from files, objects and schemas",
		Never: "any rule",
		Knows: `layouts
			repo/capi/clusterclass repo/capi/contract
			repo/kube/cel repo/kube/crd repo/kube/gotypes repo/kube/openapi
			repo/lint
			repo/migrate repo/migrate/table
			repo/text/manifest repo/text/vars repo/text/yamldoc`,
		Libraries: `k8s.io/apimachinery`,
	},
	{
		Path:  "repo/lint/rules/repository",
		Holds: "rules about folders, versions, names, URLs and metadata.yaml",
		Never: "other subjects, printing",
		Knows: `layouts repo
			repo/capi/metadata
			repo/lint
			repo/lint/rules/internal/view
			repo/text/vars repo/text/yamldoc`,
	},
	{
		Path:  "repo/lint/rules/templates",
		Holds: "rules about cluster templates, topologies and owners",
		Never: "other subjects, printing",
		Knows: `layouts repo
			repo/capi/clusterclass repo/capi/coreapi
			repo/kube/cel repo/kube/crd repo/kube/gotypes repo/kube/objectmeta repo/kube/openapi
			repo/lint
			repo/lint/rules/internal/view
			repo/move/owners
			repo/text/manifest repo/text/yamldoc`,
		Libraries: `github.com/blang/semver/v4 k8s.io/apimachinery net`,
	},
	{
		Path:  "repo/lint/rules/text",
		Holds: "rules about YAML, variables and comments that silence rules",
		Never: "other subjects, printing",
		Knows: `layouts
			repo/kube/gotypes repo/kube/objectmeta
			repo/lint
			repo/lint/rules/internal/view
			repo/text/vars repo/text/yamldoc`,
	},
	{
		Path:      "repo/live",
		Holds:     "what a move depends on, read from a management cluster",
		Never:     "what clusterctl makes of it",
		Knows:     `repo/move/snapshot`,
		Libraries: `k8s.io/apimachinery k8s.io/client-go`,
	},
	{
		Path:      "repo/live/drive",
		Holds:     "a user of a management cluster, played in a namespace made for it, with a journal",
		Never:     "what a controller does wrong",
		Knows:     `repo/behaviour/record`,
		Libraries: `k8s.io/apimachinery k8s.io/client-go`,
	},
	{
		Path:      "repo/live/watch",
		Holds:     "what happens to the objects of a management cluster, as the lines of a recording",
		Never:     "what the objects mean; writing",
		Knows:     `repo/behaviour/record`,
		Libraries: `k8s.io/apimachinery k8s.io/client-go`,
	},
	{
		Path:  "repo/migrate",
		Holds: "manifests, patches and kustomize sources edited for the next contract of Cluster API",
		Never: "rules, releases, printing",
		Knows: `repo/capi/coreapi
			repo/migrate/table repo/migrate/tree
			repo/source/files
			repo/text/vars repo/text/yamldoc`,
	},
	{
		Path:  "repo/migrate/effect",
		Holds: "what the patches of ClusterClasses do, compared before and after a migration",
		Never: "how anything is edited or printed",
		Knows: `layouts repo
			repo/capi/clusterclass repo/capi/contract repo/capi/patch
			repo/extension/request
			repo/migrate repo/migrate/table
			repo/text/manifest repo/text/yamldoc`,
	},
	{
		Path:  "repo/migrate/table",
		Holds: "what becomes of every field of Cluster API's kinds from one contract to the next",
		Never: "texts, files, reports",
	},
	{
		Path:  "repo/migrate/tree",
		Holds: "the text of a YAML document as a tree whose entries can be moved, with every other byte kept",
		Never: "what the entries mean",
		Knows: `repo/text/vars`,
	},
	{
		Path:      "repo/move/owners",
		Holds:     "who owns what in a template or a management cluster, and what clusterctl move does with it",
		Never:     "printing",
		Knows:     `repo/kube/crd repo/move/snapshot repo/text/manifest repo/text/yamldoc`,
		Libraries: `github.com/Masterminds/semver/v3`,
	},
	{
		Path:      "repo/move/snapshot",
		Holds:     "the objects of a management cluster from dumps of any size",
		Never:     "what clusterctl makes of them",
		Knows:     `repo/parallel repo/source/files repo/text/yamldoc`,
		Libraries: `sigs.k8s.io/json`,
	},
	{
		Path:  "repo/parallel",
		Holds: "independent work spread over all processors",
		Never: "what the work is",
	},
	{
		Path:  "repo/report",
		Holds: "results as text, JSON, SARIF, JUnit, GitHub annotations, Markdown and HTML",
		Never: "how the results are computed",
		Knows: `repo/capi/contract
			layouts repo
			repo/extension
			repo/facts/diff repo/facts/fleet repo/facts/inventory
			repo/lint repo/lint/fix
			repo/migrate
			repo/move/owners
			repo/report/internal/draw repo/report/internal/markup
			repo/text/yamldoc`,
	},
	{
		Path:  "repo/report/internal/draw",
		Holds: "a graph as an SVG picture",
		Never: "what the graph means",
		Knows: `repo/report/internal/markup`,
	},
	{
		Path:  "repo/report/internal/markup",
		Holds: "elements of XML, SVG and HTML, with everything escaped",
		Never: "what the elements mean",
	},
	{
		Path:      "repo/source/files",
		Holds:     "reading untrusted files: regular, of bounded size, inside one folder",
		Never:     "what the files are for",
		Libraries: `syscall`,
	},
	{
		Path:  "repo/source/folder",
		Holds: "a folder in clusterctl's layout as a Repository",
		Never: "what is in the files",
		Knows: `layouts repo repo/source/files`,
	},
	{
		Path:  "repo/source/git",
		Holds: "what git knows of a folder, and the files of a revision",
		Never: "what the files are for",
		Knows: `repo/source/program`,
	},
	{
		Path:      "repo/source/program",
		Holds:     "running other programs, which stop together with what they started",
		Never:     "what the programs are for",
		Knows:     `repo/source/files`,
		Libraries: `os/exec syscall`,
	},
	{
		Path:  "repo/text/imageref",
		Holds: "references to container images, taken apart as clusterctl does",
		Never: "which images a release has, registries",
	},
	{
		Path:  "repo/text/manifest",
		Holds: "one file as clusterctl reads it: text, variables, documents, each made once",
		Never: "rules, where the file comes from",
		Knows: `layouts repo repo/text/vars repo/text/yamldoc`,
	},
	{
		Path:  "repo/text/pattern",
		Holds: "regular expressions that are compiled when they are first used",
		Never: "what they match",
	},
	{
		Path:      "repo/text/vars",
		Holds:     "the ${VAR} language with positions, exactly as drone/envsubst, in linear time",
		Never:     "YAML",
		Libraries: `github.com/drone/envsubst/v2 unsafe`,
	},
	{
		Path:      "repo/text/yamldoc",
		Holds:     "YAML documents with positions, read as clusterctl reads them",
		Never:     "what the documents mean",
		Knows:     `repo/parallel`,
		Libraries: `go.yaml.in/yaml/v2 go.yaml.in/yaml/v4 sigs.k8s.io/yaml unsafe`,
	},
	{
		Path:  "repo/trust/policy",
		Holds: "who must have signed which provider, and what may be unsigned, with the reason",
		Never: "where the file and the keys come from",
		Knows: `layouts repo repo/text/yamldoc repo/trust/provenance repo/trust/sign`,
	},
	{
		Path:  "repo/trust/provenance",
		Holds: "the in-toto statement about how a release was made",
		Never: "keys and signatures",
		Knows: `layouts repo`,
	},
	{
		Path:      "repo/trust/sign",
		Holds:     "a signature over the checksums of a release",
		Never:     "where keys come from",
		Knows:     `layouts repo repo/trust/provenance`,
		Libraries: `golang.org/x/crypto`,
	},
	{
		Path:  "test/cluster",
		Holds: "tests against a real API server with etcd, which proves rules; own module",
		Never: "how rules are implemented",
	},
	{
		Path:  "test/cluster/apply",
		Holds: "creating objects on an API server in the order that clusterctl uses",
		Never: "rules",
	},
	{
		Path:  "test/cluster/server",
		Holds: "starting and stopping the API server of the tests",
		Never: "what is tested",
	},
	{
		Path:  "test/cluster/server/kube",
		Holds: "the program with kube-apiserver and etcd in one process",
		Never: "what is tested",
	},
	{
		Path:  "test/conformance",
		Holds: "tests of what we publish with clusterctl, gh, python-gitlab, skopeo and a real registry; own module",
		Never: "how publishing is implemented",
	},
	{
		Path:  "test/conformance/bench",
		Holds: "measurements of publishing and mirroring beside other programs",
		Never: "budgets of other commands",
		Knows: `layouts test/conformance/registry test/fakes/github test/fakes/gitlab test/fakes/proxy`,
	},
	{
		Path:  "test/conformance/openapi",
		Holds: "checks of recorded HTTP traffic against an OpenAPI document",
		Never: "what the traffic is for",
	},
	{
		Path:  "test/conformance/registry",
		Holds: "starting and stopping a real registry",
		Never: "what is stored in it",
	},
	{
		Path:  "test/corpus",
		Holds: "configurations with which real provider sources are built, and what they lead to",
		Never: "rules",
	},
	{
		Path:      "test/decisions",
		Holds:     "the check that tables of decisions are documented",
		Never:     "any destination",
		Knows:     `publish/converge`,
		Libraries: `flag testing`,
	},
	{
		Path:  "test/dist",
		Holds: "tests of a release: archives, packages, image, krew, formula, go install; own module",
		Never: "how it is built",
	},
	{
		Path:  "test/dist/image",
		Holds: "writing the container image of a release",
		Never: "how its archives were made",
	},
	{
		Path:  "test/documents",
		Holds: "tests of links, names, phrases and code blocks in the documents",
		Never: "what the documents are about",
	},
	{
		Path:      "test/documents/session",
		Holds:     "running the commands of a page as its reader would",
		Never:     "which page",
		Libraries: `os/exec`,
	},
	{
		Path:      "test/fakes/fault",
		Holds:     "faults of servers and networks as data, injected before a handler",
		Never:     "the protocol of the handler",
		Libraries: `net net/http net/http/httptest testing`,
	},
	{
		Path:  "test/fakes/github",
		Holds: "GitHub's API for releases, on loopback",
		Never: "the clients",
		Knows: `test/fakes/fault
			test/fakes/internal/blob test/fakes/internal/bucket test/fakes/internal/route test/fakes/internal/serve`,
		Libraries: `net/http testing`,
	},
	{
		Path:  "test/fakes/gitlab",
		Holds: "GitLab's API for generic packages, on loopback",
		Never: "the clients",
		Knows: `test/fakes/fault
			test/fakes/internal/blob test/fakes/internal/bucket test/fakes/internal/route test/fakes/internal/serve`,
		Libraries: `net/http testing`,
	},
	{
		Path:  "test/fakes/internal/blob",
		Holds: "bytes that a fake was given, hashed as they arrive",
		Never: "whose bytes they are",
	},
	{
		Path:      "test/fakes/internal/bucket",
		Holds:     "the object storage of a fake, on a host of its own",
		Never:     "whose bytes they are",
		Knows:     `test/fakes/fault test/fakes/internal/blob`,
		Libraries: `net/http`,
	},
	{
		Path:  "test/fakes/internal/route",
		Holds: "the operation that a request to a REST API asks for",
		Never: "any API",
	},
	{
		Path:      "test/fakes/internal/serve",
		Holds:     "HTTP servers on loopback, with throw-away certificates",
		Never:     "what is served",
		Libraries: `crypto/tls log net net/http`,
	},
	{
		Path:      "test/fakes/proxy",
		Holds:     "an HTTP proxy that leads programs to the fakes by the real names of hosts",
		Never:     "the servers, the programs",
		Knows:     `test/fakes/internal/serve`,
		Libraries: `crypto/tls net net/http testing`,
	},
	{
		Path:  "test/imports",
		Holds: "this map, and the tests that make it the law",
		Never: "what a package does beyond its row",
	},
	{
		Path:  "test/imports/newpackage",
		Holds: "the program of make new-package",
		Never: "which packages there are",
		Knows: `test/imports`,
	},
	{
		Path:  "test/integrations",
		Holds: "tests of the GitHub Action, the pre-commit hooks and the problem matcher",
		Never: "the verbs",
	},
	{
		Path:  "test/live",
		Holds: "tests with the real controllers on a real API server in a network namespace; own module",
		Never: "how behaviour is judged",
	},
	{
		Path:  "test/live/ipam",
		Holds: "the IPAM provider for the tests; own module",
		Never: "the tests",
	},
	{
		Path:  "test/live/rack",
		Holds: "a provider of machine pools, and what it may do wrong",
		Never: "how it is judged",
	},
	{
		Path:  "test/live/rig",
		Holds: "building, changing, starting and stopping the controllers",
		Never: "what is tested",
		Knows: `test/cluster/server`,
	},
	{
		Path:      "test/mutate",
		Holds:     "small changes of the core, one at a time, and whether a test notices them",
		Never:     "what the changed packages do",
		Libraries: `flag os/exec os/signal syscall`,
	},
	{
		Path:  "test/newrule",
		Holds: "the start of a rule: its row, check, example and test",
		Never: "any rule",
	},
	{
		Path:  "test/oracle",
		Holds: "tests against the real clusterctl as library and program, and Cluster API's own admission code; own module",
		Never: "how anything is implemented",
	},
	{
		Path:  "test/oracle/bench",
		Holds: "measurements of the budgets beside clusterctl and kustomize",
		Never: "how anything is implemented",
		Knows: `layouts
			layouts/config layouts/detect
			repo/text/yamldoc
			test/oracle/bench/internal/cost
			test/oracle/real`,
	},
	{
		Path:  "test/oracle/bench/internal/cost",
		Holds: "what a process took in time and memory",
		Never: "which process",
	},
	{
		Path:  "test/oracle/bench/nodes",
		Holds: "the program that only parses YAML into nodes, as a yardstick",
		Never: "releases, variables",
		Knows: `repo/text/yamldoc`,
	},
	{
		Path:  "test/oracle/bench/timed",
		Holds: "the program that measures another program",
		Never: "which program",
		Knows: `test/oracle/bench/internal/cost`,
	},
	{
		Path:  "test/oracle/migration",
		Holds: "tests of migrated manifests against the conversion functions of Cluster API",
		Never: "how manifests are edited",
	},
	{
		Path:  "test/oracle/openapi",
		Holds: "the program that writes the OpenAPI document of Cluster API's own catalogue",
		Never: "our OpenAPI document",
	},
	{
		Path:  "test/oracle/real",
		Holds: "clusterctl's and Cluster API's code behind small functions",
		Never: "what is compared",
	},
	{
		Path:      "test/rivals",
		Holds:     "the model test of publishing: many publishers of one version, some of which die",
		Never:     "any kind of place",
		Knows:     `layouts publish publish/claim publish/open publish/transport repo`,
		Libraries: `net/http testing`,
	},
	{
		Path:  "test/site",
		Holds: "preparing the documents for the web site: a page for each rule, links led to their places",
		Never: "how the pages look",
	},
	{
		Path:  "transform",
		Holds: "the plan turned into releases: kustomize, images, label, Namespace, series",
		Never: "publishing, rules",
		Knows: `layouts
			layouts/config
			repo
			repo/capi/contract repo/capi/metadata
			repo/parallel
			repo/text/yamldoc
			transform/cache
			transform/kustomize`,
		Libraries: `k8s.io/apimachinery`,
	},
	{
		Path:  "transform/cache",
		Holds: "results that count until one of the files they were made from changes",
		Never: "what the results are",
	},
	{
		Path:  "transform/check",
		Holds: "linting and fixing releases and source trees, with findings in the source; what is new since a report or a revision",
		Never: "rules by name, printing",
		Knows: `layouts
			layouts/config
			repo
			repo/capi/contract
			repo/lint repo/lint/fix
			repo/source/files
			repo/lint/rules
			repo/source/git
			repo/text/yamldoc
			transform
			transform/sourcetree`,
	},
	{
		Path:  "transform/clusterctl",
		Holds: "a release turned into what clusterctl makes of it",
		Never: "disks, the environment",
		Knows: `layouts repo/parallel repo/text/imageref repo/text/vars repo/text/yamldoc`,
		Libraries: `
			k8s.io/api k8s.io/apiextensions-apiserver k8s.io/apimachinery
			sigs.k8s.io/cluster-api/api`,
	},
	{
		Path:      "transform/clusterctl/config",
		Holds:     "clusterctl.yaml as clusterctl reads it",
		Never:     "releases, the environment",
		Knows:     `layouts transform/clusterctl`,
		Libraries: `github.com/drone/envsubst/v2 github.com/spf13/viper k8s.io/apimachinery`,
	},
	{
		Path:  "transform/declare",
		Holds: "what a source tree says about a contract besides its templates: labels that are safe to add, and what is left",
		Never: "printing, writing files",
		Knows: `layouts repo
			repo/capi/contract repo/capi/metadata
			repo/kube/crd
			repo/lint repo/lint/rules
			repo/migrate repo/migrate/tree
			repo/source/files
			repo/text/manifest repo/text/yamldoc
			transform/check transform/sourcetree`,
	},
	{
		Path:      "transform/kustomize",
		Holds:     "kustomize in process, confined to the source tree",
		Never:     "providers, rules",
		Knows:     `repo/parallel repo/source/files repo/text/pattern repo/text/yamldoc transform/cache`,
		Libraries: `sigs.k8s.io/kustomize/api sigs.k8s.io/kustomize/kyaml`,
	},
	{
		Path:  "transform/propose",
		Holds: "the configuration with which a source tree builds, found by convention, recipes and building",
		Never: "how recipes are read, how kustomize works, writing",
		Knows: `layouts
			layouts/config layouts/detect layouts/recipes
			repo
			repo/source/files
			repo/text/pattern repo/text/yamldoc
			transform/cache transform/kustomize transform/sourcetree`,
	},
	{
		Path:  "transform/sourcetree",
		Holds: "a source tree: its configuration, what it holds, and its releases built in memory",
		Never: "rules, publishing",
		Knows: `layouts
			layouts/config layouts/detect
			repo
			repo/capi/metadata
			repo/source/files repo/source/git repo/source/folder repo/source/program
			repo/text/yamldoc
			transform
			transform/cache`,
	},
	{
		Path:  "transform/verdict",
		Holds: "one release judged for a survey: findings, readiness for contracts, images",
		Never: "where releases are, how verdicts are shown",
		Knows: `layouts
			repo
			repo/capi/contract
			repo/facts/fleet repo/facts/inventory
			repo/kube/crd
			repo/lint
			repo/text/manifest
			transform/check`,
	},
}
