package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
)

// Misfits returns which releases of the mirror clusterctl would not install
// with a core provider of the mirror (clusterctl: client/cluster/installer.go,
// Validate). A mirror without a core provider is one for a cluster that has it.
func Misfits(releases []Locked) (out []string) {
	var fit, cores []string
	for _, r := range releases {
		if r.Provider == layouts.CoreName && r.Contract != "" {
			fit = append(fit, r.Contract)
			if r.Contract == metadata.Contract {
				fit = append(fit, metadata.Compatible()...)
			}
			cores = append(cores, fmt.Sprintf("%s (%s)", r.Version, r.Contract))
		}
	}
	for _, r := range releases {
		switch {
		case r.Provider == layouts.CertManager.Label():
		case r.Contract == "":
			out = append(out, fmt.Sprintf("%s %s: %s gives no contract for this version, so clusterctl refuses it", r.Provider, r.Version, layouts.MetadataFile))
		case len(cores) > 0 && !slices.Contains(fit, r.Contract):
			out = append(out, fmt.Sprintf("%s %s has the contract %s, and no %s in the mirror supports it: the mirror has %s; clusterctl would refuse to install them together", r.Provider, r.Version, r.Contract, layouts.CoreName, strings.Join(cores, ", ")))
		}
	}
	return out
}
