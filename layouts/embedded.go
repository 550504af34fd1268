package layouts

import (
	_ "embed"
	"fmt"
	"strings"
)

// Embedded is one provider of the list that is built into clusterctl.
type Embedded struct {
	Provider
	// Repository is owner/name on GitHub.
	Repository string
	// File is the components file.
	File string
}

// URL returns the provider URL as clusterctl has it, which names the latest
// release.
func (e Embedded) URL() string {
	return "https://" + gitHubHost + "/" + e.Repository + "/releases/" + Latest + "/" + e.File
}

// EmbeddedAt returns the provider that is built into clusterctl for a repository
// on GitHub, as owner/name, and a components file in it. That is what its users
// call it, whatever its labels say.
func EmbeddedAt(repository, componentsFile string) (Provider, bool) {
	for _, e := range EmbeddedProviders {
		if strings.EqualFold(e.Repository, repository) && e.File == componentsFile {
			return e.Provider, true
		}
	}
	return Provider{}, false
}

//go:embed embedded.txt
var embeddedText string

// EmbeddedProviders is the list built into clusterctl, in its order. A user need not
// configure these; an entry of the same type and name in clusterctl.yaml replaces one.
var EmbeddedProviders = embedded(embeddedText)

func embedded(text string) (out []Embedded) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		p, err := ParseLabel(words[0])
		if err != nil {
			panic(fmt.Sprintf("embedded.txt: %v", err)) // it is part of the program
		}
		info, _ := p.Type.Info()
		out = append(out, Embedded{p, words[1], append(words[2:], info.ComponentsFile)[0]})
	}
	return out
}

// EmbeddedProvider finds a provider in the list built into clusterctl.
func EmbeddedProvider(p Provider) (e Embedded, ok bool) {
	for _, e := range EmbeddedProviders {
		if e.Provider == p {
			return e, true
		}
	}
	return Embedded{}, false
}
