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
	"allow":                       "permit this `WORD`, which is refused otherwise",
	"as-is":                       "leave objects exactly as kustomize gives them",
	"baseline":                    "hide the findings of this earlier report in JSON (`FILE`)",
	"ca-file":                     "trust the certificates in this PEM `FILE`",
	"cache":                       "keep results for the next run in this `FOLDER`, not in the user's cache folder; off keeps none",
	"cert-manager":                "also mirror cert-manager, in this `VERSION`",
	"changed-since":               "hide the findings that the targets have at this git `REVISION`",
	"check-images":                "ask the registries whether they have each image, with the credentials of docker login",
	"class":                       "take the ClusterClass from the cluster template of this `FLAVOR`",
	"client-cert":                 "present this client certificate, a PEM `FILE`",
	"client-key":                  "use this private key for the client certificate, a PEM `FILE`",
	"color":                       "colour the output `WHEN`",
	"commit":                      "GitHub: create a missing tag at this `COMMIT` (default: HEAD or GITHUB_SHA)",
	"config":                      "read this configuration `FILE` instead of the default one",
	"config-maps":                 "also write the releases as ConfigMaps for Cluster API Operator",
	"contract":                    "use this `CONTRACT`",
	"control-plane-machine-count": "set the `NUMBER` of control plane machines",
	"core-version":                fmt.Sprintf("judge for this `VERSION` of Cluster API, v1.%d to v1.%d (default: the newest)", contract.OldestCore, contract.NewestCore),
	"describe":                    "describe the provider, its variables and images",
	"dev":                         "build the development repository of several source trees",
	"diff":                        "show what would change as a diff, and write nothing",
	"dry-run":                     "write nothing, and only report what would happen",
	"fail-on":                     "exit with 1 at this `LEVEL` or above",
	"fix":                         "fix what can be fixed safely, and report the rest",
	"flavor":                      "use the cluster template of this `FLAVOR`",
	"for":                         "stop after this `DURATION`",
	"force":                       "replace an existing file",
	"from":                        "read releases from this `TARGET` instead of where they came from",
	"generate-notes":              "GitHub: let GitHub generate the release notes",
	"help":                        "print this help",
	"ignore":                      "leave out these `RULES`: IDs, names or families",
	"image":                       "set an image, [LABEL:]`OLD=NEW`, where OLD is its name without a tag",
	"image-registry":              "take all images from this registry and path, `HOST/PATH`",
	"images":                      "also copy the container images",
	"jobs":                        "run this `NUMBER` of tasks in parallel",
	"keep":                        "keep this `NUMBER` of versions of each provider",
	"kubernetes-version":          "use this `VERSION` of Kubernetes (default: the variable KUBERNETES_VERSION)",
	"level":                       "call the hooks that this `LEVEL` allows",
	"like":                        "make the files of the release `TARGET` again, a folder or URL (default: the latest release of the git remote)",
	"list-variables":              "print the variables instead of the cluster",
	"min-severity":                "show only findings of this `SEVERITY` or above",
	"name":                        "use or expect this `NAME` for the ExtensionConfig",
	"namespace":                   "work only in this `NAMESPACE`",
	"notes-file":                  "GitHub: read the release notes from this `FILE`",
	"objects":                     "make requests from the ClusterClass, its templates and the Cluster in this `FILE`",
	"offline":                     "E2EConfig: use URL versions only if an earlier run fetched them",
	"only":                        "print only the values that are `WHAT`, before and after, with what changes them",
	"out":                         "write files into this `FOLDER`",
	"output":                      "write the result as `FORMAT[=FILE]`",
	"pin":                         "write the exact version instead of latest",
	"previous":                    "compare with the last release, a `TARGET`; none says that there is none",
	"platform":                    "check or copy images for this `OS/ARCH`, such as linux/arm64",
	"provider":                    "use only the provider with this `LABEL`",
	"push-images":                 "copy the images that the mirror holds into --image-registry",
	"quiet":                       "print only errors and results",
	"raw":                         "leave the variables as they are",
	"receipt":                     "write what was published where, with checksums, as JSON into this `FILE`; - is standard output",
	"retries":                     "repeat a failed request this `NUMBER` of times; pauses double from 0.5s to 32s, so 12 outlast five minutes",
	"role":                        "treat all kinds as this `ROLE` (default: recognized by name and fields)",
	"select":                      "apply only these `RULES`: IDs, names or families",
	"server-name":                 "the certificate must be for this `NAME` (default: the Service, or the host)",
	"service":                     "the server belongs to this Service, `NAMESPACE/NAME`",
	"setting":                     "send this setting with each request, `KEY=VALUE`",
	"sign-key":                    "sign " + layouts.ChecksumFile + " with the private key in this PEM `FILE`",
	"skip":                        "do not call the handler with this `NAME`",
	"target":                      "compare with the target cluster in this `DUMP`",
	"target-namespace":            "install into this `NAMESPACE`",
	"timeout":                     "a request fails when a server makes no progress for this `DURATION`",
	"to":                          "deliver releases to this `DEST`",
	"unlisted":                    "also remove files that the mirror does not list",
	"url":                         "static:DIR: the web server has this `URL`, https://gitlab.HOST",
	"verbose":                     "explain what was chosen and why",
	"verify-key":                  "demand a signature by the public key in this PEM `FILE`; of several, one is enough",
	"--version":                   "print the version of this program", // not after a command, as other programs have it
	"version":                     "give releases this `VERSION`, such as v1.2.3, or LABEL=VERSION for one provider; separate several with commas",
	"watch":                       "run again after each change to a file",
	"with":                        "know what this `TARGET` (for move-plan, or dump) defines, too",
	"worker-machine-count":        "set the `NUMBER` of worker machines",
	"write-to":                    "write to this `FILE` instead of standard output",
}

// words are the values of --allow, and what each permits.
var words = map[string]string{
	"exec":          "run the commands that the configuration lists",
	"remote":        "load the bases of kustomizations from the network, if the configuration allows it",
	"changed":       "accept versions whose files changed since they were mirrored",
	"draft":         "finish what another run left unfinished: a draft on GitHub, a claim elsewhere; only if that run has ended",
	"completion":    "GitHub: add files to a published release that only lacks files",
	"unreadable":    "GitLab: publish where clusterctl does not look, such as a host whose name does not begin with gitlab.",
	"broken-latest": "publish even if clusterctl can then no longer resolve \"latest\"",
	"removal":       "publish even if the last release has more",
}

// Explain gives the flags of a command their sentences and values. The name is that of
// the command, without the program's.
func Explain(name string, f *pflag.FlagSet) {
	f.VisitAll(func(f *pflag.Flag) {
		values := f.Usage
		if values == "" || f.Name == "help" {
			values = strings.Join(flagValues[f.Name], ", ")
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
		return flagValues[f.Name]
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
	names := slices.Sorted(maps.Keys(value))
	flag.Usage = strings.Join(phrase.List(names, func(word string) string { return fmt.Sprintf("%s (%s)", word, words[word]) }), ", ")
}

// allowed is the value of --allow: what each word sets.
type allowed map[string]*bool

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

func (a allowed) Type() string { return "words" }

// Unknown is the error of wrong usage for a word that is not among those that there are,
// which it lists, nearest first.
func Unknown(what, word string, known []string) error {
	return Usagef("%s", phrase.Unknown(what, word, known))
}
