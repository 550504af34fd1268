package layouts

import (
	"regexp"
	"strings"
	"sync"
)

// KustomizationFiles are the names of files that make a folder a kustomization, in the
// order in which they are looked for (kustomize: api/konfig,
// RecognizedKustomizationFileNames).
var KustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// DeprecatedKustomizeFields are the fields of a kustomization that kustomize warns of,
// with those that take their place (kustomize: api/types, CheckDeprecatedFields).
var DeprecatedKustomizeFields = map[string]string{
	"bases":                 "resources",
	"commonLabels":          "labels with includeSelectors",
	"imageTags":             "images",
	"patchesJson6902":       "patches",
	"patchesStrategicMerge": "patches",
	"vars":                  "replacements",
}

// IsRemoteBase recognises what kustomize would fetch: URLs, and the short forms
// of git repositories (kustomize: api/internal/git, NewRepoSpecFromURL).
func IsRemoteBase(target string) bool {
	for _, prefix := range []string{"http:", "https:", "ssh://", "git://", "git::", "git@", "file://", "github.com/", "github.com:", "gh:"} {
		if len(target) > len(prefix) && strings.EqualFold(target[:len(prefix)], prefix) {
			return true
		}
	}
	return strings.Contains(target, "?ref=") || strings.Contains(target, ".git//") || strings.Contains(target, "_git/") || userAtHost().MatchString(target)
}

// userAtHost is the form user@host:path, also with a slash for the colon.
var userAtHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*@[^/:]+(:|/[^/]+/|/.*\.git)`)
})
