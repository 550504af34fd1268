package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Glossary is the language of the flags: each name means one thing in all commands, with
// one placeholder (in backquotes) and one sentence. What a command says of a flag is the
// list of values that it takes, or nothing.
var Glossary = map[string]string{
	"add-series":                  "add the release series of the version to metadata.yaml if it is missing",
	"all":                         "show everything, not only what is lost",
	"all-namespaces":              "plan all namespaces as one move, as only clusterctl's library can",
	"allow":                       "permit this `WORD`, which is refused otherwise",
	"as-is":                       "leave objects exactly as kustomize gives them",
	"baseline":                    "hide the findings of this earlier report in JSON (`FILE`)",
	"bound":                       "change a limit of time, `NAME=DURATION`",
	"ca-file":                     "trust the certificates in this PEM `FILE`",
	"cache":                       "keep results for the next run in this `FOLDER`, not in the user's cache folder; off keeps none",
	"cert-manager":                "also mirror cert-manager, in this `VERSION`",
	"changed-since":               "hide the findings that the targets have at this git `REVISION`",
	"check-images":                "ask the registries whether they have each image, with the credentials of docker login",
	"client-cert":                 "show this client certificate, a PEM `FILE`",
	"client-key":                  "use this key of the client certificate, a PEM `FILE`",
	"color":                       "colour the output `WHEN`",
	"commit":                      "let the tag name this `COMMIT` if it does not exist yet (default: HEAD, GITHUB_SHA or CI_COMMIT_SHA)",
	"config":                      "read this configuration `FILE` instead of the usual one",
	"config-maps":                 "also write the releases as ConfigMaps for Cluster API Operator",
	"contract":                    "go by this `CONTRACT`",
	"control-plane-machine-count": "make this `NUMBER` of control plane machines",
	"core-version":                fmt.Sprintf("judge for this `VERSION` of Cluster API, v1.%d to v1.%d (default: the newest)", contract.OldestCore, contract.NewestCore),
	"describe":                    "print what the provider is, its variables and images",
	"dev":                         "build the development repository of several source trees",
	"diff":                        "show what would change as a diff, and write nothing",
	"dry-run":                     "write nothing, and only say what would happen",
	"events":                      "also watch Events, which some checks need",
	"fail-on":                     "exit with 1 from this `LEVEL` on",
	"fix":                         "fix what can be fixed safely, and report the rest",
	"flavor":                      "take the cluster template of this `FLAVOR`",
	"for":                         "stop after this `DURATION`",
	"force":                       "replace an existing file",
	"from":                        "read releases from this `TARGET` instead of from where they came",
	"generate-notes":              "GitHub: let GitHub write the text of the release",
	"gitlab-release":              "GitLab: also make a release that links to the files",
	"help":                        "print this help",
	"ignore":                      "leave out these `RULES`: IDs, names or families",
	"image":                       "set an image, [LABEL:]`OLD=NEW`, where OLD is its name without a tag",
	"image-registry":              "take all images from this registry and path, `HOST/PATH`",
	"images":                      "also bring the container images",
	"jobs":                        "do this `NUMBER` of things at the same time",
	"keep":                        "keep this `NUMBER` of versions of each provider",
	"kubeconfig":                  "use the cluster of this kubeconfig, a `FILE`",
	"kubeconfig-context":          "use this `CONTEXT` of the kubeconfig",
	"kubernetes-version":          "use this `VERSION` of Kubernetes (default: the variable KUBERNETES_VERSION)",
	"level":                       "call what this `LEVEL` allows",
	"list-variables":              "print the variables instead of the cluster",
	"max-wait":                    "wait for this `DURATION` at most when a server limits the rate of requests",
	"min-severity":                "show only findings from this `SEVERITY` on",
	"name":                        "give or expect this `NAME` of the ExtensionConfig",
	"namespace":                   "work only in this `NAMESPACE`",
	"newest":                      "check this `NUMBER` of the newest versions of each provider",
	"notes-file":                  "GitHub, GitLab: take the text of the release from this `FILE`",
	"objects":                     "make requests from the ClusterClass, its templates and the Cluster in this `FILE`",
	"oci-format":                  "oci://: write the files as layers, or as one archive (`FORMAT`)",
	"offline":                     "E2EConfig: use URL versions only if an earlier run fetched them",
	"out":                         "write files into this `FOLDER`",
	"output":                      "write the result as `FORMAT[=FILE]`",
	"pin":                         "name the version instead of latest",
	"platform":                    "want the images for this `OS/ARCH`, such as linux/arm64",
	"policy":                      "demand the signatures that this trust policy (`FILE`) asks for",
	"provenance":                  "add " + layouts.ProvenanceFile + ", which says how the files were made (in-toto, SLSA v1)",
	"provider":                    "take only the provider with this `LABEL`",
	"push-images":                 "copy the images that the bundle or the mirror holds into --image-registry",
	"quiet":                       "print only errors and results",
	"rare":                        "repeat requests so often that a fault of one call in `NUMBER` is seen",
	"raw":                         "leave the variables as they are",
	"ready-url":                   "also ask this `URL`, the readiness endpoint",
	"receipt":                     "write what was published where, with checksums, as JSON into this `FILE`; - is standard output",
	"record":                      "write a recording into this `FILE`, gzipped if its name ends in .gz",
	"require-provenance":          "with --verify-key or --policy: also demand " + layouts.ProvenanceFile + ", with a source commit that has every input",
	"restart":                     "restart what is checked with this shell `COMMAND`",
	"retries":                     "repeat a failed request this `NUMBER` of times; pauses double from 0.5s to 32s, so 12 outlast five minutes",
	"retry-budget":                "follow the retries of hooks that block for this `DURATION`; 0 does not",
	"role":                        "all kinds have this `ROLE` (default: recognized by name and fields)",
	"select":                      "apply only these `RULES`: IDs, names or families",
	"server-name":                 "the certificate must be for this `NAME` (default: the Service, or the host)",
	"service":                     "the server belongs to this Service, `NAMESPACE/NAME`",
	"setting":                     "send this setting with each request, `KEY=VALUE`",
	"shard":                       "take only the part `I/N`, such as 3/8; job/8 in an Indexed Job of Kubernetes",
	"sign-key":                    "sign " + layouts.ChecksumFile + " with the private key in this PEM `FILE`, whose password is in COSIGN_PASSWORD",
	"since":                       "bundle: leave out what the mirror.lock.json of the other side (`FILE`) lists",
	"skip":                        "skip the step or handler with this `NAME`",
	"target-namespace":            "install into this `NAMESPACE`",
	"timeout":                     "a request fails when a server makes no progress for this `DURATION`",
	"to":                          "bring releases to this `DEST`",
	"to-kubeconfig":               "compare the cluster of this kubeconfig, a `FILE`, to which objects are moved",
	"to-kubeconfig-context":       "use this `CONTEXT` of that kubeconfig",
	"to-snapshot":                 "compare the cluster in this `SNAPSHOT`, to which objects are moved",
	"unlisted":                    "also remove files that are in no list of the mirror",
	"url":                         "static:DIR: this is the `URL` of the web server, https://gitlab.HOST",
	"verbose":                     "explain what was chosen and why",
	"verify":                      "after the move, compare the target with the plan in this `FILE`, made by -o json",
	"verify-key":                  "demand a signature with the public key, or certificate, in this `FILE`; with several, by one of them",
	"migrate--version":            "add the release series of this `VERSION`, such as v1.2.3",
	"--version":                   "print the version of this program", // not after a command, as other programs have it
	"version":                     "give releases this `VERSION`, such as v1.2.3, or LABEL=VERSION for one provider; several with commas",
	"watch":                       "repeat the work after each change of a file",
	"worker-machine-count":        "make this `NUMBER` of worker machines",
	"write":                       "replace the files",
	"write-to":                    "write to this `FILE` instead of standard output",

	"yes-this-cluster-is-disposable": "act; without it nothing is written",
}

// words are the values of --allow, and what each permits.
var words = map[string]string{
	"exec":          "run the commands that the configuration lists",
	"remote":        "load the bases of kustomizations from the network, if the configuration allows it",
	"failures":      "exit with 0 although some providers cannot be read",
	"changed":       "accept versions whose files changed since they were mirrored",
	"draft":         "finish what another run began and left: a draft on GitHub, a claim elsewhere; only if that run has ended",
	"completion":    "GitHub: add files to a published release that lacks nothing but files",
	"unreadable":    "GitLab: publish where clusterctl does not look, such as a host whose name does not begin with gitlab.",
	"broken-latest": "publish although clusterctl can then no longer resolve \"latest\"",
}

// Explain gives the flags of a command their sentences and values. The name is that of
// the command, without the program's.
func Explain(name string, f *pflag.FlagSet) {
	f.VisitAll(func(f *pflag.Flag) {
		values := f.Usage
		if values == "" || f.Name == "help" {
			values = strings.Join(FlagValues[f.Name], ", ")
		}
		text := cmp.Or(Glossary[name+"--"+f.Name], Glossary[f.Name])
		if values != "" {
			text += ": " + values
		}
		switch f.Value.Type() {
		case "stringSlice", "stringArray", "words", "bounds":
			text += "; may be repeated"
		}
		f.Usage = text
	})
}

// Values are those that a flag takes, before it is explained; nil if they are not a few words.
func Values(f *pflag.Flag) (values []string) {
	if words, ok := f.Value.(allowed); ok {
		return slices.Sorted(maps.Keys(words))
	}
	if f.Usage == "" {
		return FlagValues[f.Name]
	}
	for word := range strings.SplitSeq(f.Usage, ", ") {
		word, _, _ = strings.Cut(word, " ")
		values = append(values, word)
	}
	return values
}

// Describe is a flag as help, manual pages and documents show it: its forms with the
// placeholder, and its sentence with the default.
func Describe(f *pflag.Flag) (name, text string) {
	placeholder, text := pflag.UnquoteUsage(f)
	name = "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	switch {
	case f.Value.Type() == "bool":
	case f.NoOptDefVal != "":
		name += "[=" + placeholder + "]"
	default:
		name += " " + placeholder
	}
	if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" {
		text += fmt.Sprintf(" (default %s)", d)
	}
	return name, text
}

// Allow lets the flag --allow permit what words stand for.
func Allow(f *pflag.FlagSet, word string, to *bool) {
	flag := f.Lookup("allow")
	if flag == nil {
		flag = f.VarPF(allowed{}, "allow", "", "")
	}
	value, _ := flag.Value.(allowed)
	value[word] = to
	var list []string
	for _, word := range slices.Sorted(maps.Keys(value)) {
		list = append(list, fmt.Sprintf("%s (%s)", word, words[word]))
	}
	flag.Usage = strings.Join(list, ", ")
}

// allowed is the value of --allow: what each word sets.
type allowed map[string]*bool

// String implements pflag.Value.
func (a allowed) String() string {
	var on []string
	for word, to := range a {
		if *to {
			on = append(on, word)
		}
	}
	slices.Sort(on)
	return strings.Join(on, ",")
}

// Set implements pflag.Value.
func (a allowed) Set(value string) error {
	for word := range strings.SplitSeq(value, ",") {
		to, ok := a[strings.TrimSpace(word)]
		if !ok {
			return errors.New(phrase.Unknown("word", word, slices.Sorted(maps.Keys(a))))
		}
		*to = true
	}
	return nil
}

// Type implements pflag.Value.
func (a allowed) Type() string { return "words" }

// Unknown is the error of wrong usage for a word that is not among those that there are,
// which it lists, nearest first.
func Unknown(what, word string, known []string) error {
	return Usagef("%s", phrase.Unknown(what, word, known))
}
