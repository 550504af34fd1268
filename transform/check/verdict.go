package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Judge says of one release what a survey shows: findings, readiness for the
// contracts, images. The error is that of reading it.
func Judge(ctx context.Context, r *repo.Release, o Options) (inventory.Release, error) {
	out := inventory.Release{Version: r.Version, Contracts: []inventory.Contract{}, Findings: []inventory.Finding{}, Images: []string{}}
	all, err := Definitions(r)
	if err != nil {
		return out, err
	}
	for _, c := range contract.Accepted {
		profile := o.Profile
		profile.Contract = c
		declared, missing := contract.Lacks(all, profile)
		out.Contracts = append(out.Contracts, inventory.Contract{Name: string(c), Declared: declared, Ready: len(missing) == 0, Missing: append([]string{}, missing...)})
	}
	images, imagesErr := inventory.Images(ctx, r) // an error is mostly a finding too
	for _, image := range images {
		out.Images = append(out.Images, image.Ref)
	}
	slices.Sort(out.Images)
	out.Images = slices.Compact(out.Images)
	one := &repo.Repository{Path: r.Path, Providers: []*repo.Provider{{Provider: r.Provider, Path: r.Path, Releases: []*repo.Release{r}}}}
	o.Foreign = true
	result, err := Repository(ctx, one, true, o)
	if err != nil {
		return out, err
	}
	for _, f := range result.Report.Findings {
		switch f.Severity {
		case lint.Error:
			out.Errors++
		case lint.Warning:
			out.Warnings++
		default:
			out.Infos++
			continue
		}
		out.Findings = append(out.Findings, inventory.Finding{Rule: f.Rule.ID, Severity: f.Severity.String(), File: below(r.Path, f.File), Line: f.Pos.Line, Message: f.Message, Fingerprint: f.Fingerprint})
	}
	failures := phrase.List(result.Report.Failures, error.Error)
	if imagesErr != nil && out.Errors == 0 {
		failures = append(failures, imagesErr.Error())
	}
	out.Unread = strings.Join(failures, "; ")
	return out, nil
}

// below is the name of a file in a release; "." for the release itself.
func below(release, file string) string {
	rest, ok := strings.CutPrefix(file, strings.TrimSuffix(release, "/"))
	if !ok {
		return file
	}
	return cmp.Or(strings.TrimLeft(rest, `/\`), ".")
}

// Definitions are the CRDs in the components of a release; none if it has no
// components. The error is that of reading them.
func Definitions(r *repo.Release) ([]*crd.CRD, error) {
	components := r.Components()
	if components == nil {
		return nil, nil
	}
	data, err := components.Bytes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", components.Path, err)
	}
	var all []*crd.CRD
	for _, o := range manifest.New(components, layouts.Components, data).Objects() {
		if o.Is(crd.Group, crd.Kind) {
			all = append(all, crd.Of(o))
		}
	}
	return all, nil
}
