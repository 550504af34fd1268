package layouts

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
