package diff

import (
	"strings"
)

// row says what a kind of change means for users. A column that is "–" does not
// occur.
type row struct {
	Area                    Area
	What                    string
	Added, Removed, Changed string
}

// fixed are the changes whose meaning is not in a table of its own.
var fixed = []row{
	{InMetadata, "a release series", "neutral", "attention", "breaking, if its contract changes"},
	{InMetadata, "the contract of the release", "–", "–", "attention"},
	{InAPI, "a CRD", "neutral", "breaking", "–"},
	{InAPI, "scope, plural, kind or list kind of a CRD", "–", "–", "breaking"},
	{InAPI, "a version of a CRD", "neutral", "breaking", "breaking, if it is no longer served; attention, if it is deprecated"},
	{InAPI, "a contract label", "neutral", "attention", "neutral"},
	{InAPI, "type", "–", "–", "breaking; attention, if more types are allowed"},
	{InAPI, "a value of enum", "neutral; breaking, if there was no enum", "breaking; neutral, if the enum is gone", "–"},
	{InAPI, "a field", "neutral; breaking, if it is required and has no default", "breaking; attention, if unknown fields are kept", "–"},
	{InAPI, "required", "breaking; attention, if the field has a default", "neutral", "–"},
	{InAPI, "a schema, or that of the items of a list", "attention", "attention", "–"},
	{InAPI, "additionalProperties", "neutral; attention, if fields or free keys were there before", "breaking; attention, if unknown fields are kept", "attention"},
	{InVariables, "a variable of a template or of the components", "neutral; breaking, if it has no default", "neutral", "attention, if its default changes; breaking, if the default is gone"},
	{InImages, "an image", "attention", "neutral", "attention"},
	{InPermissions, "a verb on a resource", "attention", "neutral", "–"},
	{InObjects, "a webhook configuration", "attention", "neutral", "neutral"},
	{InObjects, "the Namespace", "neutral", "attention", "neutral"},
	{InObjects, "the binding of a role that the release does not define", "attention", "neutral", "attention, if it is another role"},
	{InObjects, "any other object", "neutral", "neutral", "neutral"},
	{InClasses, "a variable of a ClusterClass", "neutral; breaking, if it is required and has no default", "breaking", "as a field of a CRD; breaking, if it becomes required"},
	{InClasses, "a patch of a ClusterClass", "attention", "attention", "attention; neutral, if only API versions in it change"},
	{InClasses, "workers of a ClusterClass", "neutral", "breaking", "attention; neutral, if only API versions in them change"},
	{InClasses, "the API version of a ClusterClass", "–", "–", "attention"},
	{InClasses, "another field of a ClusterClass", "attention", "attention", "attention; neutral, if only API versions in it change"},
}

// allMeanings lists what changes mean, by area, as Releases judges them.
func allMeanings() []row {
	out := append([]row(nil), fixed...)
	for _, k := range keywords {
		changed := k.changed.String()
		switch {
		case k.direction > 0:
			changed = "breaking upwards, neutral downwards"
		case k.direction < 0:
			changed = "breaking downwards, neutral upwards"
		}
		out = append(out, row{InAPI, k.name, k.added.String(), k.removed.String(), changed})
	}
	for _, list := range [][]part{versionParts, definitionParts} {
		for _, p := range list {
			out = append(out, row{InAPI, strings.Join(p.path, "."), p.added.String(), p.removed.String(), p.changed.String()})
		}
	}
	for _, m := range meanings {
		out = append(out, row{InObjects, "label " + m.label, m.added.String(), m.removed.String(), m.removed.String()})
	}
	return out
}
