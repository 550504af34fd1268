package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// definition is a CustomResourceDefinition of about 6 kB.
func definition(n int) string {
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: foo%[1]ds.infrastructure.cluster.x-k8s.io
  labels:
    cluster.x-k8s.io/provider: infrastructure-foo
    cluster.x-k8s.io/v1beta1: v1beta1
spec:
  group: infrastructure.cluster.x-k8s.io
  names:
    kind: Foo%[1]d
    listKind: Foo%[1]dList
    plural: foo%[1]ds
    singular: foo%[1]d
  scope: Namespaced
  versions:
  - name: v1beta1
    schema:
      openAPIV3Schema:
        properties:
          apiVersion:
            type: string
          kind:
            type: string
          metadata:
            type: object
          spec:
            properties:
%[2]s            type: object
        type: object
    served: true
    storage: true
    subresources:
      status: {}
`, n, many(24, func(i int) string {
		return fmt.Sprintf("              field%d:\n                description: |-\n                  Field%[1]d says how large part %[1]d of the machine is, and how\n                  it is attached to the other parts.\n                maxLength: 64\n                type: string\n", i)
	}))
}

// flavor is a cluster template.
const flavor = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: ${CLUSTER_NAME}
  namespace: ${NAMESPACE}
spec:
  infrastructureRef:
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
    kind: FooCluster
    name: ${CLUSTER_NAME}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: FooCluster
metadata:
  name: ${CLUSTER_NAME}
  namespace: ${NAMESPACE}
spec:
  region: ${FOO_REGION:="here"}
  size: ${FOO_SIZE}
`

func tiny(n int) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\n  namespace: foo-system\n", n)
}

// large measures input far beyond that of real providers, and its memory.
func (b *bench) large(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.dir, "large")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	write := func(name, version, components string) (string, error) {
		r, err := synthetic(filepath.Join(dir, name), version, components)
		return r.dir, err
	}
	const definitions = 9000
	crds := many(definitions, definition)
	before, err := write("crds", "v1.0.0", crds)
	if err != nil {
		return err
	}
	after, err := write("crds", "v1.0.1", strings.ReplaceAll(crds, "maxLength: 64", "maxLength: 32"))
	if err != nil {
		return err
	}
	templates, err := write("templates", "v1.0.0", document(0, "none"))
	if err != nil {
		return err
	}
	for i := range 10000 {
		if err := os.WriteFile(filepath.Join(templates, fmt.Sprintf("cluster-template-f%d.yaml", i)), []byte(flavor), 0o644); err != nil {
			return err
		}
	}
	some, err := write("some", "v1.0.0", many(25000, tiny))
	if err != nil {
		return err
	}
	more, err := write("more", "v1.0.0", many(100000, tiny))
	if err != nil {
		return err
	}
	versions := filepath.Join(dir, "versions")
	for i := range 8000 {
		if _, err := write("versions", fmt.Sprintf("v1.0.%d", i), many(5, func(i int) string { return document(i, "none") })); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		work string
		dirs []string
		p    process
	}{
		{"`lint` of 10,000 templates", []string{templates}, b.tool(append(lintCommand, templates)...)},
		{"`lint` of one large file", []string{before}, b.tool(append(lintCommand, before)...)},
		{"`vars` of the same", []string{before}, b.tool("vars", before)},
		{"`images` of the same", []string{before}, b.tool("images", before)},
		{"`render` of the same", []string{before}, b.tool(append(renderCommand, before)...)},
		{"`diff` of two such files", []string{before, after}, b.tool("diff", before, after, "-o", "json")},
		{"`lint` of 8,000 versions", []string{versions}, b.tool(append(lintCommand, versions)...)},
	} {
		if err := b.bounded(ctx, x.work, x.dirs, x.p); err != nil {
			return err
		}
	}
	return b.documents(ctx, some, more)
}

// bounded measures the time and the memory of a command for its input.
func (b *bench) bounded(ctx context.Context, work string, dirs []string, p process) error {
	var input int64
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err == nil {
				input += info.Size()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	p.mayFail = true // diff exits with 1 for changes
	s := side{name: "clusterctl-repo", runs: b.slow, processes: []process{p}}
	c, err := b.compare(ctx, s)
	if err != nil {
		return err
	}
	b.report.measured(work, s, c[0])
	limit := 6*input + 120e6
	b.report.row(row{
		work: work, ours: duration(c[0].wall()) + ", " + megabytes(c[0].rss()), against: "input: " + megabytes(input), ratio: fmt.Sprintf("%.1f × the input", float64(c[0].rss())/float64(input)),
		goal: "≤ " + megabytes(limit), met: c[0].rss() <= limit,
		reading: "The goal for the peak of memory is 6 times the input and 120 MB.",
	})
	return nil
}

// documents compares many tiny documents with four times as many.
func (b *bench) documents(ctx context.Context, some, more string) error {
	quarter := side{name: "clusterctl-repo lint, 25,000", runs: b.slow, processes: []process{b.linting(some)}}
	all := side{name: "clusterctl-repo lint, 100,000", runs: b.slow, processes: []process{b.linting(more)}}
	c, err := b.compare(ctx, quarter, all)
	if err != nil {
		return err
	}
	const work = "`lint` of 100,000 documents"
	b.report.measured(work, quarter, c[0])
	b.report.measured(work, all, c[1])
	x := timesTheCost(work, "25,000 documents", c[1], c[0], 6, "The peak of memory is "+megabytes(c[1].rss())+"; the goal is 500 MB.")
	x.met = x.met && c[1].rss() < 500e6
	b.report.row(x)
	return nil
}

// rerun measures builds of a source tree after one file changed.
func (b *bench) rerun(ctx context.Context) error {
	sources, err := b.corpus.sources()
	if err != nil {
		return err
	}
	for _, s := range sources {
		switch filepath.Base(s.dir) {
		case "cluster-api":
			if err := b.lintSource(ctx, "Cluster API", s); err != nil {
				return err
			}
			continue
		case "cluster-api-provider-aws":
			if err := b.lintSource(ctx, "AWS", s); err != nil {
				return err
			}
		default:
			continue
		}
		dir := filepath.Join(b.dir, "edited")
		defer os.RemoveAll(dir)
		if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
			return err
		}
		args := []string{"--cache", filepath.Join(b.dir, "cache")}
		if s.config != "" {
			args = append(args, "--config", s.config)
		}
		template := filepath.Join(dir, "templates", "cluster-template.yaml")
		edits := 0
		edit := func() error {
			f, err := os.OpenFile(template, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			edits++
			_, err = f.WriteString("# edit " + strconv.Itoa(edits) + "\n")
			return err
		}
		for _, work := range [][]string{{"lint", dir, "--fail-on", "never"}, {"build", dir, "--version", s.version, "--out", filepath.Join(b.dir, "rebuilt")}} {
			p := b.tool(append(work, args...)...)
			if _, err := b.run(ctx, p); err != nil {
				return err
			}
			again := side{name: "clusterctl-repo " + work[0] + ", after an edit", runs: b.runs, processes: []process{p}, before: func() error {
				if err := os.RemoveAll(filepath.Join(b.dir, "rebuilt")); err != nil {
					return err
				}
				return edit()
			}}
			c, err := b.compare(ctx, again)
			if err != nil {
				return err
			}
			title := "`" + work[0] + "` the source of AWS again"
			b.report.measured(title, again, c[0])
			const goal = 100 * time.Millisecond
			b.report.row(row{work: title, ours: duration(c[0].wall()), against: "–", ratio: "–", goal: "≤ " + duration(goal), met: c[0].wall() <= goal,
				reading: "One template changed since the run before; the rest of the build comes from the cache."})
		}
	}
	return nil
}

// lintSource measures the lint of a source tree that was never built before.
func (b *bench) lintSource(ctx context.Context, name string, s source) error {
	p := b.tool("lint", s.dir, "--no-cache", "--fail-on", "never")
	if s.config != "" {
		p.args = append(p.args, "--config", s.config)
	}
	first := side{name: "clusterctl-repo lint --no-cache", runs: b.runs, processes: []process{p}}
	c, err := b.compare(ctx, first)
	if err == nil {
		b.report.measured("`lint` the source of "+name, first, c[0])
	}
	return err
}
