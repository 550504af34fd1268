package mirror

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Config is a clusterctl.yaml.
type Config struct {
	Providers []ConfigProvider `json:"providers"`
	// CertManager is nil for the cert-manager that clusterctl takes itself.
	CertManager *ConfigCertManager  `json:"cert-manager,omitempty"`
	Images      map[string]override `json:"images,omitempty"`
	// OverridesFolder must be a folder that does not exist or is empty if
	// nothing of the user's machine is to stand in for files of the mirror. If
	// it is "", clusterctl looks into its own.
	OverridesFolder string `json:"overridesFolder,omitempty"`
}

type ConfigProvider struct {
	Name string               `json:"name"`
	Type layouts.ProviderType `json:"type"`
	URL  string               `json:"url"`
}

// ConfigCertManager says which cert-manager clusterctl installs. Version is
// what it asks for at the URL, whatever version stands in that. clusterctl reads
// ExternallyProvisioned as a string (clusterctl: client/config/cert_manager_client.go).
type ConfigCertManager struct {
	URL                   string `json:"url,omitempty"`
	Version               string `json:"version,omitempty"`
	ExternallyProvisioned string `json:"externallyProvisioned,omitempty"`
}

const configComment = `# Made by clusterctl-repo mirror, which rewrites it in each run. All versions
# are fixed, so that clusterctl asks for nothing that is not in the mirror.
`

func (c *Config) Marshal() ([]byte, error) {
	text, err := yamldoc.Marshal(c)
	return append([]byte(configComment), text...), err
}

// Portable is the default of layouts.MirrorVariable in a mirror that has no
// place yet: the working directory.
const Portable = "${PWD}"

// Movable makes a provider URL below dir one that works after the folder was
// moved, if the user sets layouts.MirrorVariable: clusterctl replaces variables
// in URLs (clusterctl: client/config/providers_client.go, List). The default is
// here, or dir itself if that is "".
func Movable(provider, dir, here string) string {
	root := local.FileURL(dir)
	rest, below := strings.CutPrefix(provider, root+"/")
	if !below {
		return provider
	}
	slashes, path := "file://", root[len("file://"):]
	if filepath.VolumeName(dir) != "" {
		slashes, path = slashes+"/", path[1:]
	}
	return slashes + variable(cmp.Or(here, path)) + "/" + rest
}

func variable(value string) string { return "${" + layouts.MirrorVariable + ":-" + value + "}" }

// MadeIn returns the folder that a provider URL of Movable defaults to, or "".
func MadeIn(provider string) string {
	_, rest, ok := strings.Cut(provider, "${"+layouts.MirrorVariable+":-")
	text, _, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return ""
	}
	dir, err := url.PathUnescape(text)
	if err != nil {
		return ""
	}
	return filepath.FromSlash(dir)
}

// OverridesFolder returns a folder as clusterctl reads it: it replaces variables
// in it, and on Windows treats it as a URL (clusterctl:
// client/repository/overrides.go).
func OverridesFolder(dir, here string, windows bool) string {
	below := "/" + layouts.OverridesFolder
	path := filepath.ToSlash(dir)
	switch {
	case windows:
		return "file:///" + strings.ReplaceAll(path, "$", "$$") + below
	case here != "":
		return variable(here) + below
	case strings.ContainsAny(path, "${}\\"):
		return strings.ReplaceAll(path, "$", "$$") + below // not possible in a default
	}
	return variable(path) + below
}

// Newest returns for each provider the release that clusterctl.yaml names: the
// highest, but a pre-release only if there is nothing else.
func Newest(releases []Locked) (out []*Locked) {
	for i := range releases {
		l := &releases[i] // sorted by provider and version
		if n := len(out); n > 0 && out[n-1].Provider == l.Provider {
			if stable(l.Version) || !stable(out[n-1].Version) {
				out[n-1] = l
			}
			continue
		}
		out = append(out, l)
	}
	return out
}

func stable(version string) bool {
	v, err := layouts.ParseVersion(version)
	return err == nil && v.Prerelease() == ""
}
