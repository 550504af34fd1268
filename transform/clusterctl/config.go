package clusterctl

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/drone/envsubst/v2"
	"github.com/spf13/viper"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Env looks up a variable of the environment, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

// Config is a read configuration. It is safe for concurrent use.
type Config struct {
	name string
	file *viper.Viper
	env  Env
}

// Read parses a configuration file. Name is shown in messages; its extension
// tells the format: yaml, yml, json, toml, dotenv or env. Empty data is a
// configuration without entries, which is what clusterctl works with if there is
// no file (clusterctl: client/config/reader_viper.go).
func Read(name string, data []byte, env Env) (*Config, error) {
	c := &Config{name: name, file: viper.New(), env: env}
	if len(data) == 0 {
		return c, nil
	}
	format := strings.TrimPrefix(path.Ext(name), ".")
	if format == "" {
		return nil, fmt.Errorf("%s: %w", name, viper.UnsupportedConfigError(format))
	}
	c.file.SetConfigType(format)
	if err := c.file.ReadConfig(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Get returns the value of a variable and whether it is set: in the environment
// under its name in upper case, with underscores for dashes, or else in the
// file, where case does not count.
func (c *Config) Get(name string) (string, bool) {
	if value, ok := c.fromEnv(name); ok {
		return value, true
	}
	return c.file.GetString(name), c.file.Get(name) != nil
}

func (c *Config) fromEnv(name string) (string, bool) {
	return c.env(strings.ReplaceAll(strings.ToUpper(strings.ToLower(name)), "-", "_"))
}

// unmarshal decodes an entry of the file. A variable of the environment with its
// name hides it, and hardly ever decodes.
func (c *Config) unmarshal(key string, into any) error {
	v := c.file
	if value, ok := c.fromEnv(key); ok {
		v = viper.New()
		v.Set(key, value)
	}
	return v.UnmarshalKey(key, into)
}

// Images returns the image overrides (clusterctl:
// client/config/imagemeta_client.go).
func (c *Config) Images() (Images, error) {
	var images Images
	if err := c.unmarshal("images", &images); err != nil {
		return nil, fmt.Errorf("%s: failed to unmarshal image override configurations: %w", c.name, err)
	}
	return images, nil
}

// OverridesFolder returns the folder whose files stand in for those of the
// providers, or "" for clusterctl's own choice (clusterctl:
// client/repository/overrides.go).
func (c *Config) OverridesFolder() (string, error) {
	folder, _ := c.Get("overridesFolder")
	if strings.TrimSpace(folder) == "" {
		return "", nil
	}
	expanded, err := c.expand(folder)
	if err != nil {
		return "", fmt.Errorf("%s: unable to evaluate overridesFolder: %q: %w", c.name, folder, err)
	}
	return expanded, nil
}

// expand replaces ${…} from the environment alone.
func (c *Config) expand(text string) (result string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("clusterctl crashes on this expression: %v", p)
		}
	}()
	return envsubst.Eval(text, func(name string) string {
		value, _ := c.env(name)
		return value
	})
}

// Provider is an entry of the provider list.
type Provider struct {
	layouts.Provider
	// URL is where the components are, with the environment filled in.
	URL string
}

// Providers returns the entries of the file, in its order; of two for one
// provider the last counts. One bad entry makes all of them unusable, as it does
// for clusterctl (clusterctl: client/config/providers_client.go, List).
func (c *Config) Providers() ([]Provider, error) {
	var entries []struct {
		Name string
		URL  string
		Type layouts.ProviderType
	}
	if err := c.unmarshal("providers", &entries); err != nil {
		return nil, fmt.Errorf("%s: failed to unmarshal providers from the clusterctl configuration file: %w", c.name, err)
	}
	var providers []Provider
	index := map[layouts.Provider]int{}
	for _, e := range entries {
		u, err := c.expand(e.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: unable to evaluate url: %q: %w", c.name, e.URL, err)
		}
		p := Provider{layouts.Provider{Type: e.Type, Name: e.Name}, u}
		if err := p.validate(); err != nil {
			return nil, fmt.Errorf("%s: error validating configuration for the %s with name %s. Please fix the providers value in clusterctl configuration file: %w", c.name, e.Type, e.Name, err)
		}
		if i, ok := index[p.Provider]; ok {
			providers[i] = p
			continue
		}
		index[p.Provider] = len(providers)
		providers = append(providers, p)
	}
	return providers, nil
}

// validate is clusterctl's validateProvider, which is laxer than layouts.
func (p Provider) validate() error {
	switch {
	case p.Name == "":
		return errors.New("name value cannot be empty")
	case p.Name != strings.ToLower(p.Name):
		return fmt.Errorf("provider name %s must be in lower case", p.Name)
	case (p.Name == layouts.CoreName) != (p.Type == layouts.Core):
		return fmt.Errorf("name %s must be used with the %s type (name: %s, type: %s)", layouts.CoreName, layouts.Core, p.Name, p.Type)
	}
	if errs := validation.IsDNS1123Subdomain(p.Name); len(errs) > 0 {
		return fmt.Errorf("invalid provider name: %s", strings.Join(errs, "; "))
	}
	if p.URL == "" {
		return errors.New("provider URL value cannot be empty")
	}
	if _, err := url.Parse(p.URL); err != nil {
		return fmt.Errorf("error parsing provider URL: %w", err)
	}
	if _, ok := p.Type.Info(); !ok {
		names := phrase.List(layouts.Types, func(t layouts.TypeInfo) string { return string(t.Type) })
		return fmt.Errorf("invalid provider type. Allowed values are [%s]", strings.Join(names, ", "))
	}
	return nil
}
