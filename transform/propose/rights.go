package propose

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// rightsRules are about what the contract needs of roles.
var rightsRules = []string{"RBAC001", "RBAC002", "RBAC003", "RBAC004", "RBAC011", "RBAC013", "RBAC014"}

// follow are the rights on CRDs of a controller that follows references of contract
// v1beta2, which name a kind without a version.
var follow = []string{"get", "list", "watch"}

// rights reports what roles lack for the contract. Roles are mostly made from
// markers in Go, so that an edit of them would be lost.
func (s *side) rights() error {
	chosen := phrase.Only(rules.All, func(r *lint.Rule) bool { return slices.Contains(rightsRules, r.ID) })
	result, err := check.Build(s.ctx, s.now.build, check.Options{Rules: chosen, Profile: s.profile()})
	if s.ctx.Err() != nil {
		return err
	}
	if err == nil {
		for i := range result.Report.Findings {
			f := &result.Report.Findings[i]
			level := migrate.Manual
			if f.Severity == lint.Info {
				level = migrate.Note
			}
			s.add(migrate.Finding{
				Level: level, File: path.Join(s.prefix, s.tree(f.File)), Line: f.Pos.Line, Object: f.Object,
				Message: f.Message + " (" + f.Rule.ID + ")", Help: strings.TrimSuffix(f.Help(), "."),
			})
		}
	}
	for _, r := range s.now.releases {
		for _, k := range s.profile().Kinds(r.crds) {
			if s.opts.To != contract.V1Beta2 || k.Role != contract.ControlPlane || k.Template || k.Judged == nil {
				continue
			}
			if _, presence := k.Judged.Schema.At("spec", "machineTemplate"); presence != crd.Present {
				continue
			}
			const resource = "customresourcedefinitions"
			missing := s.lacking(r, crd.Group, resource, follow)
			if len(missing) == 0 {
				continue
			}
			file, line := s.place(k.CRD)
			s.add(migrate.Finding{
				Level: migrate.Note, File: file, Line: line, Object: string(k.Role) + " " + k.Kind,
				Message: fmt.Sprintf("no role allows %s on %s of %s, but references of contract v1beta2 name a kind without a version, and the CRD determines which version to use", strings.Join(missing, ", "), resource, crd.Group),
				Help:    fmt.Sprintf("if the controller follows such references, add the marker +kubebuilder:rbac:groups=%s,resources=%s,verbs=%s", crd.Group, resource, strings.Join(follow, ";")),
			})
		}
	}
	return nil
}

// lacking are the verbs that no role of a release allows.
func (s *side) lacking(r released, group, resource string, verbs []string) []string {
	holds := func(list any, names ...string) bool {
		items, _ := list.([]any)
		return slices.ContainsFunc(items, func(v any) bool {
			text, _ := v.(string)
			return text == "*" || slices.Contains(names, text)
		})
	}
	allowed := map[string]bool{}
	for key, value := range s.now.objects {
		o, _ := value.(map[string]any)
		if kind := o["kind"]; !strings.HasPrefix(key, r.Provider.Label()+"/") ||
			kind != "ClusterRole" && kind != "Role" {
			continue
		}
		list, _ := o["rules"].([]any)
		for _, rule := range list {
			m, _ := rule.(map[string]any)
			for _, verb := range verbs {
				if holds(m["apiGroups"], group) && holds(m["resources"], resource) && holds(m["verbs"], verb) {
					allowed[verb] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return allowed[v] })
}

// series begins a release series with the new contract, once all kinds declare it.
func (s *side) series(b *transform.Build) {
	if s.opts.Series == nil {
		return
	}
	fail := func(file, message, help string) {
		s.add(migrate.Finding{Level: migrate.Manual, File: path.Join(s.prefix, file), Line: 1, Message: message, Help: help})
	}
	for _, step := range s.steps() {
		if step.Declared == "" || !step.Ready() {
			fail("metadata.yaml", fmt.Sprintf("the series %s was not started: %s is not ready for contract %s", s.opts.Series.Series(), step.CRD.Kind, s.opts.To), "first finish what is left to do in the CRDs")
			return
		}
	}
	on, err := files.Open(s.dir)
	if err != nil {
		return
	}
	defer on.Close()
	done := map[string]bool{}
	for _, p := range b.Config.Providers {
		name := cmp.Or(p.Metadata, b.Config.Metadata)
		if name == "" || done[name] {
			continue
		}
		done[name] = true
		name = path.Clean(name)
		data, err := on.ReadFile(name)
		if err != nil {
			fail(name, err.Error(), "add the series by hand")
			continue
		}
		f := yamldoc.NewFile(name, data)
		if m, err := metadata.Read(f); err == nil {
			if there := m.SeriesOf(s.opts.Series.Major(), s.opts.Series.Minor()); there != nil {
				if there.Contract != string(s.opts.To) {
					fail(name, fmt.Sprintf("the series %s already has contract %s, and a series keeps its contract", there, there.Contract), "start the next one")
				}
				continue
			}
		}
		text, err := metadata.WithSeries(f, metadata.NewSeries{Version: *s.opts.Series, Contract: string(s.opts.To)})
		if err != nil {
			if at, ok := errors.AsType[*yamldoc.Error](err); ok {
				err = at.Err
			}
			fail(name, err.Error(), "add it by hand")
			continue
		}
		s.disk[name], s.overlay[name] = data, text
		s.add(migrate.Finding{Level: migrate.Note, File: path.Join(s.prefix, name), Line: 1, Message: fmt.Sprintf("added the series %s with contract %s", s.opts.Series.Series(), s.opts.To)})
	}
}
