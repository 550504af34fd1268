package report

import (
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

type hooksBody struct {
	CoreVersion string     `json:"core" doc:"the minor version of Cluster API, such as v1.14, whose hooks these are"`
	Hooks       []jsonHook `json:"hooks" doc:"an entry for each hook"`
}

type jsonHook struct {
	Name           string            `json:"name" doc:"the name of the hook"`
	Path           string            `json:"path" doc:"the path of the request; {name} is the name of the handler"`
	Summary        string            `json:"summary" doc:"when it is called"`
	Since          string            `json:"since" doc:"the first minor version of Cluster API that calls it"`
	Level          string            `json:"level" doc:"what a call may do: discover only asks, pure computes an answer, all may act" enum:"discover,pure,all"`
	Blocking       bool              `json:"blocking" doc:"Cluster API waits if the answer has retryAfterSeconds"`
	Retry          bool              `json:"retryAfterSeconds" doc:"answers have this field"`
	Single         bool              `json:"singleton" doc:"only one handler may be registered"`
	Named          bool              `json:"calledByName" doc:"a ClusterClass names the handler; otherwise all handlers are called"`
	CoreVersion    string            `json:"coreVersion" doc:"the API version of the clusters and machines in requests"`
	RequestFields  []extension.Field `json:"requestFields" doc:"the fields of the request, besides apiVersion, kind and settings"`
	ResponseFields []extension.Field `json:"responseFields" doc:"the fields of the answer, besides apiVersion, kind, status and message"`
}

// WriteHooks lists the hooks that a Cluster API of a minor version calls, as text
// or json.
func WriteHooks(w io.Writer, format string, core int) error {
	hooks := extension.Hooks(core)
	if format == "json" {
		return documentOf("hooks").Write(w, nil, hooksBody{minor(core), phrase.List(hooks, func(h *extension.Hook) jsonHook {
			path := h.Path("{name}")
			if h.IsDiscovery() { // which has no name behind it
				path = h.Path("")
			}
			return jsonHook{
				h.Name, path, h.Summary, minor(h.Since), h.Level.String(), h.Blocks(core), h.Retry, h.Single, h.Named,
				string(extension.CoreVersion(core)), h.Request, h.Response,
			}
		})})
	}
	rows := [][]string{{"HOOK", "SINCE", "LEVEL", "BLOCKING", "HANDLERS", "CLUSTER API"}}
	for _, h := range hooks {
		blocking, handlers := "no", "all are called"
		if h.Blocks(core) {
			blocking = "yes"
		}
		switch {
		case h.IsDiscovery():
			handlers = "none"
		case h.Single:
			handlers = "one"
		case h.Named:
			handlers = "by name"
		}
		rows = append(rows, []string{h.Name, minor(h.Since), h.Level.String(), blocking, handlers, h.Summary})
	}
	return WriteTable(w, rows, Columns(w))
}
