package layouts

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
