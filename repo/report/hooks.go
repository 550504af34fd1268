package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
)

type hooksBody struct {
	CoreVersion string     `json:"core"`
	Hooks       []jsonHook `json:"hooks"`
}

// jsonHook is an entry of hooks[].
type jsonHook struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Summary  string `json:"summary"`
	Since    string `json:"since"`
	Level    string `json:"level"`
	Blocking bool   `json:"blocking"`
	Retry    bool   `json:"retryAfterSeconds"`
	// Single says that one handler may be registered for it, Named that a
	// ClusterClass names its handler.
	Single bool `json:"singleton"`
	Named  bool `json:"calledByName"`
	// CoreVersion is the version of the clusters and machines in requests.
	CoreVersion    string      `json:"coreVersion"`
	RequestFields  []jsonField `json:"requestFields"`
	ResponseFields []jsonField `json:"responseFields"`
}

type jsonField struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
}

func jsonFields(list []extension.Field) []jsonField {
	out := []jsonField{}
	for _, f := range list {
		out = append(out, jsonField(f))
	}
	return out
}

// WriteHooks lists the hooks that a Cluster API of a minor version calls, as text
// or json.
func WriteHooks(w io.Writer, format string, core int) error {
	hooks := extension.Hooks(core)
	// Discovery has no name behind it.
	path := func(h *extension.Hook, name string) string {
		if h.IsDiscovery() {
			name = ""
		}
		return h.Path(name)
	}
	if format == "json" {
		out := hooksBody{fmt.Sprintf("v1.%d", core), []jsonHook{}}
		for _, h := range hooks {
			out.Hooks = append(out.Hooks, jsonHook{
				h.Name, path(h, "{name}"), h.Summary, fmt.Sprintf("v1.%d", h.Since), h.Level.String(), h.Blocks(core), h.Retry, h.Single, h.Named,
				string(extension.CoreVersion(core)), jsonFields(h.Request), jsonFields(h.Response),
			})
		}
		return documentOf("hooks").Write(w, nil, out)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "HOOK\tSINCE\tLEVEL\tBLOCKING\tHANDLERS\tCLUSTER API")
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
		fmt.Fprintf(tw, "%s\tv1.%d\t%s\t%s\t%s\t%s\n", h.Name, h.Since, h.Level, blocking, handlers, h.Summary)
	}
	return tw.Flush()
}
