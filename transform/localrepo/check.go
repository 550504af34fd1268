package localrepo

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// check returns everything that the framework refuses, in its words, and what it
// takes although it harms: targets that leave the folder of the version, and
// variables that replace the list of providers. Versions may still be markers, and
// missing says why there is no file.
//
// Many suites load their configurations themselves, without the framework's validation: own says
// what that would refuse then. Sources show it, or that no provider is kubeadm.
func (c *suiteConfig) check(missing func(file) error, loadsItself func() bool) (own string, err error) {
	k := &checker{c: c, missing: missing, loadsItself: loadsItself}
	byType := map[string][]provider{}
	for i := range c.Providers {
		p := &c.Providers[i]
		byType[p.Type.Value] = append(byType[p.Type.Value], *p)
		k.provider(p, fmt.Sprintf("Providers[%d]", i))
	}
	own = k.set(byType)
	for i, image := range c.Images {
		at := fmt.Sprintf("Images[%d]", i)
		if image.Name.Value == "" {
			k.refuse(image.At, "%s.Name=\"\" is empty", at)
		}
		if !slices.Contains([]string{"mustLoad", "tryLoad"}, image.Policy.Value) {
			k.refuse(image.Policy.At, "%s.LoadBehavior=%q: write mustLoad or tryLoad", at, image.Policy.Value)
		}
	}
	for _, i := range c.Intervals {
		bad := len(i.Times) == 0 || len(i.Times) > 2
		times := []string{}
		for _, t := range i.Times {
			_, err := time.ParseDuration(t.Value)
			bad, times = bad || err != nil, append(times, t.Value)
		}
		if bad {
			k.refuse(i.At, "Intervals[%s]=%q: write one or two durations, such as 5m and 10s", i.Name, times)
		}
	}
	for _, v := range c.Variables {
		if v.Name == "providers" || v.Name == "overridesFolder" {
			k.refuse(v.Key, "variable %s would replace the field %s of %s; rename it", v.Name, v.Name, ConfigFile)
		}
	}
	return own, errors.Join(k.faults...)
}

type checker struct {
	c           *suiteConfig
	missing     func(file) error
	loadsItself func() bool
	faults      []error
}

func (k *checker) refuse(at yamldoc.Pos, format string, args ...any) {
	k.faults = append(k.faults, k.c.Errorf(at, format, args...))
}

func (k *checker) provider(p *provider, where string) {
	_, known := p.Provider().Type.Info()
	switch problems := p.Provider().Problems(); {
	case p.Name.Value == "":
		k.refuse(cmp.Or(p.Name.At, p.At), "%s.Name is empty", where)
	case !known:
		types := phrase.List(layouts.Types, func(t layouts.TypeInfo) string { return string(t.Type) })
		k.refuse(cmp.Or(p.Type.At, p.At), "%s.Type=%q: write one of %s", where, p.Type.Value, strings.Join(types, ", "))
	case len(problems) > 0 && p.Type.Value != string(layouts.Core):
		k.refuse(cmp.Or(p.Name.At, p.At), "%s.Name=%q: %s", where, p.Name.Value, problems[0].Message)
	}
	for i := range p.Versions {
		k.version(&p.Versions[i], fmt.Sprintf("%s.Sources[%d]", where, i))
	}
	k.files(p.Files, where)
}

func (k *checker) version(v *version, where string) {
	_, marker := v.Marker()
	_, err := layouts.ParseVersion(v.Name.Value)
	switch {
	case v.Name.Value == "":
		k.refuse(cmp.Or(v.Name.At, v.At), "%s.Name is empty", where)
	case err != nil && !marker, strings.TrimSpace(v.Name.Value) != v.Name.Value:
		k.refuse(cmp.Or(v.Name.At, v.At), "%s.Name=%q: write a version such as v1.2.3", where, v.Name.Value)
	}
	switch {
	case v.Type.Value != byURL && v.Type.Value != byKustomize:
		k.refuse(cmp.Or(v.Type.At, v.At), "%s.Type=%q: write url or kustomize", where, v.Type.Value)
	case v.Value.Value == "":
		k.refuse(cmp.Or(v.Value.At, v.At), "%s.Value is empty", where)
	}
	for i, r := range v.Replacements {
		if _, err := regexp.Compile(r.Old.Value); err != nil {
			k.refuse(cmp.Or(r.Old.At, r.At), "%s.Replacements[%d].Old=%q: %w", where, i, r.Old.Value, err)
		}
	}
	k.files(v.Files, where)
}

func (k *checker) files(files []file, where string) {
	for i, f := range files {
		if f.Source.Value == "" {
			k.refuse(cmp.Or(f.Source.At, f.At), "%s.Files[%d].SourcePath=\"\": write the path of a file", where, i)
		} else if err := k.missing(f); err != nil {
			k.refuse(cmp.Or(f.Source.At, f.At), "%s.Files[%d].SourcePath=%q: %w", where, i, f.Source.Value, err)
		}
		if name := filepath.Clean(f.Target.Value); f.Source.Value != "" && (name != filepath.Base(name) || name == "." || name == "..") {
			k.refuse(cmp.Or(f.Target.At, f.At), "%s.Files[%d].TargetName=%q: write a file name without a folder", where, i, f.Target.Value)
		}
	}
}

// set checks that the providers are those of a whole management cluster.
func (k *checker) set(byType map[string][]provider) (own string) {
	var faults []error
	top := yamldoc.Pos{Line: 1, Column: 1}
	for _, want := range []struct {
		kind layouts.ProviderType
		word string
		name string
	}{
		{layouts.Core, "core", layouts.CoreName},
		{layouts.Bootstrap, "bootstrap", "kubeadm"},
		{layouts.ControlPlane, "control-plane", "kubeadm"},
		{layouts.Infrastructure, "infrastructure", ""},
	} {
		have := byType[string(want.kind)]
		switch {
		case want.name == "" && len(have) == 0:
			faults = append(faults, k.c.Errorf(top, "invalid config: it is required to have at least one %s-provider", want.word))
		case want.name != "" && len(have) != 1:
			where := top
			if len(have) > 1 {
				where = have[1].At
			}
			faults = append(faults, k.c.Errorf(where, "invalid config: it is required to have exactly one %s-provider", want.word))
		case want.name != "" && have[0].Name.Value != want.name:
			faults = append(faults, k.c.Errorf(cmp.Or(have[0].Name.At, have[0].At), "invalid config: %s-provider should be named %s", want.word, want.name))
		}
	}
	kubeadm := func(p provider) bool { return p.Name.Value == "kubeadm" }
	others, planes := byType[string(layouts.Bootstrap)], byType[string(layouts.ControlPlane)]
	if len(faults) > 0 && (len(others) > 0 && len(planes) > 0 && !slices.ContainsFunc(others, kubeadm) &&
		!slices.ContainsFunc(planes, kubeadm) || k.loadsItself()) {
		return faults[0].Error()
	}
	k.faults = append(k.faults, faults...)
	return ""
}
