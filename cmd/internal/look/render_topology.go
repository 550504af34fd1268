package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
	"github.com/clusterctl-repo/clusterctl-repo/transform/topology"
)

type topologyRendering struct {
	clusterRendering
	// class is the flavor whose template has the ClusterClass.
	class string
	only  string
	// given is --with, and more are its releases, whose classes templates of users may use.
	given targets.With
	more  []*repo.Release
}

func renderTopologyCommand(env *cli.Env) *cobra.Command {
	var r topologyRendering
	cmd := &cobra.Command{
		Use:   "topology TARGET NAME",
		Short: "Print what Cluster API makes of a Cluster and its ClusterClass",
		Long: `Prints the objects that the topology controller of Cluster API ` + clusterctl.Release + `
creates for a new Cluster with a ClusterClass: the infrastructure cluster, the
control plane, MachineDeployments, MachinePools, MachineHealthChecks and their
templates, with the patches applied for the Cluster's variables. Or it prints
why the controller refuses the Cluster, with the place.

With --only patched, it prints only what the patches change, step by step: each
value before (-) and after (+), with the patch and the variables that it reads.

It needs neither a cluster nor the network; "clusterctl alpha topology plan",
which clusterctl has removed, needed a cluster. What cannot be known is listed
on standard error: patches of runtime extensions are not applied, and CEL rules
of variables are not evaluated. Templates are taken as they are in the files,
without defaults of the API server and changes by webhooks. ` + extension.Random + ` in a name
stands for random characters that Cluster API generates.
` + targets.Help + "\n" + targets.OwnHelp + ` The ClusterClass may be
in any file, or in a release that --with names; --flavor names the template in a
folder.`,
		Example: `  clusterctl-repo render topology out/infrastructure-acme/v1.2.3 my-cluster \
      --flavor topology --kubernetes-version v1.34.0

  # What do the patches of the class change, and which variable decides?
  clusterctl-repo render topology out/infrastructure-acme/v1.2.3 my-cluster \
      --flavor topology --only patched`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.only != "" && r.only != "patched" {
				return cli.Unknown("value of --only", r.only, []string{"patched"})
			}
			if err := r.prepare(env, cmd, args[0], args[1]); err != nil {
				return err
			}
			var err error
			if r.more, err = r.given.Open(cmd.Context(), env); err != nil {
				return err
			}
			states, err := r.topologies(cmd.Context(), env)
			if err != nil {
				return err
			}
			var out bytes.Buffer
			could := ""
			for _, s := range states {
				if s.Unpatched {
					could = " that could be applied"
				}
				for _, note := range s.Notes {
					env.Say("info: %s", note)
				}
				for _, o := range s.Objects {
					if r.only != "" {
						writeChanges(&out, o)
						continue
					}
					data, err := yamldoc.Marshal(o.Value)
					if err != nil {
						return fmt.Errorf("%v: %w", o.Value["kind"], err)
					}
					if out.Len() > 0 {
						out.WriteString("---\n")
					}
					out.Write(data)
				}
			}
			switch {
			case out.Len() == 0:
				env.Say("info: the patches%s change nothing", could)
			case bytes.Contains(out.Bytes(), []byte("-"+extension.Random)):
				env.Say("info: %s in names stands for the random characters that Cluster API generates", extension.Random)
			}
			return r.print(env, &out)
		},
	}
	r.bind(cmd.Flags())
	r.given.Bind(cmd.Flags())
	cmd.Flags().StringVar(&r.class, "class", "", "")
	cmd.Flags().StringVar(&r.only, "only", "", "")
	return cmd
}

// classOf finds a ClusterClass; of two of a name the last is applied.
func classOf(objects []*manifest.Object, name string) *clusterclass.Class {
	for _, o := range slices.Backward(objects) {
		if o.Is(clusterclass.Group, clusterclass.Kind) && o.Name == name {
			return clusterclass.Of(o)
		}
	}
	return nil
}

// topologies computes what becomes of each Cluster of the template that has a class.
func (r *topologyRendering) topologies(ctx context.Context, env *cli.Env) (out []*topology.State, err error) {
	t, err := clusterctl.RenderCluster(ctx, r.in)
	if err != nil {
		return nil, err
	}
	template, err := t.Manifests()
	if err != nil {
		return nil, err
	}
	with := map[string][]*manifest.Object{} // the class that is named, and what it is admitted with
	for i, o := range template {
		spec, name := o.Get("spec", "topology"), clusterclass.Named(o)
		if !o.Is(clusterclass.Group, "Cluster") || spec.Given() == nil || spec.Is(yamldoc.Map) && len(spec.Fields()) == 0 {
			continue
		}
		all, again := with[name]
		if !again {
			all = template
			if name == "" {
				return nil, cli.Usagef("spec.topology of Cluster %s names no ClusterClass", o.Name)
			}
			if r.class != "" || classOf(all, name) == nil {
				more, err := r.classFrom(ctx, env, name)
				if err != nil {
					return nil, fmt.Errorf("the class of Cluster %s: %w", o.Name, err)
				}
				all = append(slices.Clip(more), template...)
			}
			with[name] = all
		}
		class := classOf(all, name)
		in := topology.Input{Cluster: o, Value: t.Objects[i].Object, Class: class, Templates: all, Contract: r.contract(class), Changes: r.only != ""}
		notes, err := topology.Admit(in)
		if !again {
			err = errors.Join(err, check.Admitted(ctx, all))
		}
		if err != nil {
			return nil, err
		}
		s, err := topology.Generate(in)
		if err == nil {
			err = s.Refused(o)
		}
		if err != nil {
			return nil, err
		}
		s.Notes = append(notes, s.Notes...)
		out = append(out, s)
	}
	if len(out) == 0 {
		err := fmt.Errorf("%s has no Cluster with a ClusterClass (spec.topology)", r.in.Template.Name)
		if flavors := r.with("topology:"); len(flavors) > 0 {
			err = fmt.Errorf("%w; these flavors may have one: %s", err, strings.Join(flavors, ", "))
		}
		return nil, err
	}
	return out, nil
}

// contract is that of the control plane of a class, if a release defines its kind.
func (r *topologyRendering) contract(class *clusterclass.Class) contract.Contract {
	references := class.References()
	if len(references) < 2 {
		return ""
	}
	for _, release := range append([]*repo.Release{r.release}, r.more...) {
		for _, d := range crd.In(manifest.Components(release)) {
			if d.Group == references[1].Group() && d.Kind+contract.Suffix == references[1].Kind {
				of, _, _ := contract.DefaultProfile().Choose(d)
				return of
			}
		}
	}
	return ""
}

// with are the flavors whose templates hold a text, sorted.
func (r *clusterRendering) with(text string) (flavors []string) {
	for _, a := range r.release.Artifacts {
		data, err := a.Bytes()
		if flavor, ok := layouts.Flavor(a.Name); ok && err == nil && bytes.Contains(data, []byte(text)) && flavor != r.flavor {
			flavors = append(flavors, flavor)
		}
	}
	return flavors
}

// classFrom returns the objects of the file that has a ClusterClass: the one that clusterctl
// reads, or the template of a flavor. Templates of a class of users may be in more files.
func (r *topologyRendering) classFrom(ctx context.Context, env *cli.Env, name string) (out []*manifest.Object, err error) {
	file := layouts.ClusterClassFile(name)
	switch {
	case r.release.Own && r.class == "":
		find := r.finder(ctx)
		if err := find(&out, clusterclass.ClassID(name)); err != nil {
			return nil, err
		}
		class := classOf(out, name)
		if class == nil {
			return nil, cli.Usagef("ClusterClass %q is not in %s; name the file or release that has it with --with", name, r.release.Path)
		}
		for _, ref := range class.References() {
			id := clusterclass.ID{Group: ref.Group(), Kind: ref.Kind, Name: ref.Name}
			if !slices.ContainsFunc(out, func(o *manifest.Object) bool { return o.Is(id.Group, id.Kind) && o.Name == id.Name }) {
				if err := find(&out, id); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	case r.release.Own:
		if file, err = ownTemplate(r.release, r.class); err != nil {
			return nil, err
		}
	case r.class != "":
		file = layouts.TemplateFile(r.class)
	}
	f, err := r.file(env, file)
	if err != nil {
		if flavors := r.with("kind: " + clusterclass.Kind); len(flavors) > 0 {
			err = fmt.Errorf("%w; if another flavor has ClusterClass %q, name it with --class: %s", err, name, strings.Join(flavors, ", "))
		}
		return nil, err
	}
	if out, err = r.rendered(ctx, f); err == nil && classOf(out, name) == nil {
		err = fmt.Errorf("%s has no ClusterClass %q", f.Name, name)
	}
	return out, err
}

// rendered are the objects of a file, with the values of this run.
func (r *topologyRendering) rendered(ctx context.Context, f *yamldoc.File) ([]*manifest.Object, error) {
	in := r.in
	in.Template = f
	t, err := clusterctl.RenderCluster(ctx, in)
	if err != nil {
		return nil, err
	}
	return t.Manifests()
}

// finder returns what adds the objects of the one file of users, or else of the releases that
// they use, that holds an object.
func (r *topologyRendering) finder(ctx context.Context) func(into *[]*manifest.Object, id clusterclass.ID) error {
	beside := &repo.Release{Own: true, Artifacts: r.release.Beside}
	places := phrase.List(append([]*repo.Release{r.release, beside}, r.more...), clusterclass.Files)
	return func(into *[]*manifest.Object, id clusterclass.ID) error {
		i := slices.IndexFunc(places, func(files map[clusterclass.ID][]*repo.Artifact) bool { return len(files[id]) > 0 })
		if i < 0 {
			return nil
		}
		all := places[i][id]
		if len(all) > 1 {
			names := phrase.List(all, func(a *repo.Artifact) string { return a.Name })
			return cli.Usagef("%s %q is in several files: %s; name the one that counts, or its folder", id.Kind, id.Name, phrase.Few(names, 6))
		}
		data, err := all[0].Bytes()
		if err != nil {
			return err
		}
		more, err := r.rendered(ctx, yamldoc.NewFile(all[0].Path, data))
		*into = append(*into, more...)
		return err
	}
}

func writeChanges(w *bytes.Buffer, o *topology.Object) {
	if len(o.Changes) == 0 {
		return
	}
	if w.Len() > 0 {
		w.WriteByte('\n')
	}
	name, _ := extension.Get(o.Value, "metadata", "name")
	fmt.Fprintf(w, "%v %v, made from %s\n", o.Value["kind"], name, o.Template)
	for _, c := range o.Changes {
		fmt.Fprintf(w, "  %s: %s\n", c.Path, c.Cause)
		for _, line := range changedLines(c) {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
}

func changedLines(c topology.Change) []string {
	text := func(v any) string {
		if s, ok := v.(string); ok && strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
			return strings.TrimSuffix(s, "\n") + "\n"
		} else if v == nil {
			return ""
		}
		data, err := yamldoc.Marshal(v)
		if err != nil {
			return fmt.Sprintln(v)
		}
		return string(data)
	}
	_, diff, _ := strings.Cut(edit.Diff("", []byte(text(c.Before)), []byte(text(c.After))), " @@\n")
	return phrase.List(strings.Split(strings.TrimSuffix(diff, "\n"), "\n"), func(line string) string {
		if strings.HasPrefix(line, "@@") {
			return "…"
		}
		return line[:min(1, len(line))] + " " + line[min(1, len(line)):]
	})
}
