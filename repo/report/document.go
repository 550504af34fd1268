package report

import (
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Document is a kind of JSON document that machines read. All begin with the same
// fields; see Write.
type Document struct {
	// Kind is its name, and Version that of its form, which only changes when
	// readers have to: fields are added without.
	Kind    string
	Version int
	// Body is a struct with the further fields, of any value.
	Body any
	// Title says what it holds.
	Title string
}

// head begins every document.
type head struct {
	Kind          string           `json:"kind" doc:"the kind of document"`
	SchemaVersion int              `json:"schemaVersion" doc:"the version of the format of this kind; fields may be added without a new version"`
	Failures      []string         `json:"failures" doc:"what could not be read or done, one message for each; the document is complete if the list is empty"`
	Suppressed    []jsonSuppressed `json:"suppressed" doc:"findings that comments in the files suppress, or a configuration among them; they are not in other lists and counts. Only lint has any"`
}

type jsonSuppressed struct {
	jsonFinding
	Reason string `json:"reason" doc:"why, as stated in the comment, or which configuration; may be empty"`
}

// Documents are the kinds that this package writes.
var Documents = []Document{
	{"lint", 1, jsonReport{}, "the findings of lint, contract and extension check"},
	{"vars", 1, variablesBody{}, "the variables of releases"},
	{"images", 1, imagesBody{}, "the images of releases"},
	{"image-checks", 1, imageChecksBody{}, "what registries say about the images of releases"},
	{"diff", 1, diffBody{}, "the changes between releases"},
	{"move-plan", 3, moveBody{}, "what clusterctl move moves, what stays, and what is not known"},
	{"rules", 1, rulesBody{}, "the rules of lint"},
	{"contract", 2, contractPage{}, "the contract of a role"},
	{"contracts", 2, rolesBody{}, "the roles that have a contract"},
	{"hooks", 1, hooksBody{}, "the hooks of the Runtime SDK"},
}

func documentOf(kind string) Document {
	for _, d := range Documents {
		if d.Kind == kind {
			return d
		}
	}
	panic("no document of kind " + kind)
}

// Write writes the document with a body of its kind. Failures say what is
// missing in it.
func (d Document) Write(w io.Writer, failures []error, body any) error {
	return d.write(w, failures, nil, body)
}

func (d Document) write(w io.Writer, failures []error, suppressed []lint.Suppressed, body any) error {
	return WriteJSON(w, head{
		Kind: d.Kind, SchemaVersion: d.Version, Failures: phrase.List(failures, error.Error),
		Suppressed: phrase.List(suppressed, func(s lint.Suppressed) jsonSuppressed { return jsonSuppressed{findingJSON(&s.Finding), s.Reason} }),
	}, body)
}

// Schema returns the JSON schema (draft 2020-12) of the document, made of its Go
// types. It permits fields that it does not list, because later versions of this
// program may add some.
func (d Document) Schema() ([]byte, error) {
	return Schema("clusterctl-repo: "+d.Title, []any{d.Kind, d.Version}, head{}, d.Body)
}
