package mirror

import (
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Config is a clusterctl.yaml.
type Config struct {
	Providers []ConfigProvider `json:"providers"`
	// CertManager is nil for the cert-manager that clusterctl takes itself.
	CertManager *ConfigCertManager  `json:"cert-manager,omitempty"`
	Images      map[string]Override `json:"images,omitempty"`
	// OverridesFolder must be a folder that does not exist or is empty if
	// nothing of the user's machine is to stand in for files of the mirror. If
	// it is "", clusterctl looks into its own.
	OverridesFolder string `json:"overridesFolder,omitempty"`
}

// ConfigProvider is an entry of the provider list.
type ConfigProvider struct {
	Name string               `json:"name"`
	Type layouts.ProviderType `json:"type"`
	URL  string               `json:"url"`
}

// ConfigCertManager says which cert-manager clusterctl installs. Version is
// what it asks for at the URL, whatever version stands in that.
type ConfigCertManager struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

const configComment = `# Made by clusterctl-repo mirror, which writes it anew in each run. All versions
# are fixed, so that clusterctl asks for nothing that is not in the mirror.
`

// Marshal returns the text of the file.
func (c *Config) Marshal() ([]byte, error) {
	text, err := yamldoc.Marshal(c)
	return append([]byte(configComment), text...), err
}

// overridesFolder returns a folder as clusterctl reads it: it replaces variables
// in it, and on Windows takes it for a URL (clusterctl:
// client/repository/overrides.go).
func overridesFolder(dir string, windows bool) string {
	path := filepath.ToSlash(filepath.Join(dir, layouts.OverridesFolder))
	if windows {
		path = "file:///" + path
	}
	return strings.ReplaceAll(path, "$", "$$")
}

// newest returns for each provider the release that clusterctl.yaml names: the
// highest, but a pre-release only if there is nothing else.
func newest(releases []Locked) (out []*Locked) {
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
