package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// inventoryCommand is the common part of vars and images: take what list finds
// in each release of a target, and print it with write.
func inventoryCommand[T any](a *app, use, short, long, example string,
	list func(context.Context, *repo.Release) ([]T, error),
	write func(w io.Writer, format string, releases []report.Inventory[T], failures ...error) error,
) *cobra.Command {
	var s source
	out := outputs{formats: report.InventoryFormats}
	cmd := &cobra.Command{
		Use:     use + " TARGET",
		Short:   short,
		Long:    long + "\n" + targetHelp + sourceHelp,
		Example: strings.ReplaceAll(example, "COMMAND", "clusterctl-repo "+use),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			t, err := a.open(cmd.Context(), args[0], &s)
			if err != nil {
				return err
			}
			releases, err := t.newest()
			if err != nil {
				return err
			}
			var all []report.Inventory[T]
			var failures []error
			for _, r := range releases {
				items, err := list(cmd.Context(), r)
				if cmd.Context().Err() != nil {
					return err
				}
				failures = append(failures, parts(err)...)
				all = append(all, report.Inventory[T]{Release: r, Items: items})
			}
			if len(failures) > 0 {
				// Only JSON says that it is incomplete.
				outs = slices.DeleteFunc(outs, func(o output) bool { return o.format != "json" })
			}
			err = a.write(outs, func(w io.Writer, format string, _ bool) error { return write(w, format, all, failures...) })
			return errors.Join(append(failures, err)...)
		},
	}
	s.flags(cmd)
	out.flag(cmd)
	return cmd
}

// parts are the errors that errors.Join joined, also of joined ones.
func parts(err error) (out []error) {
	if err == nil {
		return nil
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok || reflect.TypeOf(err) != reflect.TypeOf(errors.Join(err)) {
		return []error{err}
	}
	for _, e := range list.Unwrap() {
		out = append(out, parts(e)...)
	}
	return out
}

func (a *app) varsCommand() *cobra.Command {
	return inventoryCommand(a, "vars", "List the variables of a release",
		`Lists the variables of the newest release in TARGET, of each provider that it
holds: type, default, where they are used, and what "clusterctl generate
cluster --list-variables" does not show: nested variables, those in
ClusterClasses, and defaults that a later use does not get.`,
		`  COMMAND out/infrastructure-acme/v1.2.3

  # For the README of the provider
  COMMAND . -o markdown

  # What must be set, for a script
  COMMAND out -o json | jq -r '.variables[] | select(.required) | .provider + " " + .name'`,
		inventory.Variables, report.WriteVariables)
}

// imageCheck is "images --check".
type imageCheck struct {
	app      *app
	on       bool
	wanted   []string
	ctx      context.Context // of the command, which writes know nothing of
	checked  []report.ImageCheck
	bad, odd int
	unasked  []error // of images, why their registries could not be asked
}

func (c *imageCheck) write(w io.Writer, format string, releases []report.Inventory[inventory.Image], failures ...error) error {
	if !c.on {
		return report.WriteImages(w, format, releases, failures...)
	}
	if c.checked == nil {
		c.ask(releases)
	}
	return report.WriteImageChecks(w, format, c.checked, append(failures, c.unasked...)...)
}

// ask asks the registries, each image once.
func (c *imageCheck) ask(releases []report.Inventory[inventory.Image]) {
	index := map[string]int{}
	var images []open.Image
	var rows []int // of images
	for _, r := range releases {
		for _, i := range r.Items {
			place := fmt.Sprintf("%s/%s/%s:%d", r.Release.Provider.Label(), r.Release.Version, i.File, i.Line)
			n, again := index[i.Ref]
			if again {
				c.checked[n].Places = append(c.checked[n].Places, place)
				continue
			}
			n = len(c.checked)
			index[i.Ref] = n
			c.checked = append(c.checked, report.ImageCheck{Ref: i.Ref, Status: report.ImageUnchecked, Platforms: []string{}, Places: []string{place}})
			host, path, _ := strings.Cut(i.Repository+"/"+i.Name, "/")
			switch {
			case i.Variable != "":
				c.checked[n].Problem = "the user chooses it with ${" + i.Variable + "}"
			case i.Name == "":
				c.checked[n].Status, c.checked[n].Problem = report.ImageMissing, "it is not the name of an image"
				c.bad++
			default:
				images = append(images, open.Image{Host: host, Repository: path, Reference: cmp.Or(i.Digest, i.Tag, "latest")})
				rows = append(rows, n)
			}
		}
	}
	for i, s := range c.app.places(nil).CheckImages(c.ctx, images) {
		row := &c.checked[rows[i]]
		row.Platforms = append(row.Platforms, s.Platforms...)
		lacks := s.Lacks(c.wanted)
		switch {
		case s.Missing():
			row.Status, row.Problem = report.ImageMissing, "the registry does not have it"
			c.bad++
		case s.Err != nil:
			row.Status, row.Problem = report.ImageUnknown, s.Err.Error()
			c.odd++
			c.unasked = append(c.unasked, fmt.Errorf("%s: %w", row.Ref, s.Err))
		case len(lacks) > 0:
			row.Status, row.Problem = report.ImageIncomplete, "it is not built for "+strings.Join(lacks, ", ")
			c.bad++
		default:
			row.Status = report.ImageFound
		}
	}
}

// askRegistries returns a function that asks for images, each once.
func (a *app) askRegistries(ctx context.Context, wanted []string) func([]lint.ImageName) []lint.Image {
	var mu sync.Mutex
	known := map[lint.ImageName]lint.Image{}
	return func(names []lint.ImageName) []lint.Image {
		mu.Lock()
		defer mu.Unlock()
		var ask []open.Image
		var of []lint.ImageName
		for _, name := range names {
			if _, ok := known[name]; !ok {
				known[name] = lint.Image{}
				ask, of = append(ask, open.Image{Host: name.Host, Repository: name.Path, Reference: name.Reference}), append(of, name)
			}
		}
		for i, s := range a.places(nil).CheckImages(ctx, ask) {
			image := lint.Image{Missing: s.Missing()}
			switch {
			case image.Missing:
			case s.Err != nil:
				image.Err = s.Err
			default:
				image.Lacks = s.Lacks(wanted)
			}
			known[of[i]] = image
		}
		out := make([]lint.Image, len(names))
		for i, name := range names {
			out[i] = known[name]
		}
		return out
	}
}

func (a *app) imagesCommand() *cobra.Command {
	c := &imageCheck{app: a}
	cmd := a.listImages(c)
	list := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.ctx = cmd.Context(); len(c.wanted) > 0 && !c.on {
			return usagef("--platform only works together with --check")
		}
		err := list(cmd, args)
		switch {
		case err != nil:
			return err
		case c.odd > 0:
			return &codeError{code: exitFailed}
		case c.bad > 0:
			return &codeError{code: exitFindings}
		}
		return nil
	}
	cmd.Flags().BoolVar(&c.on, "check", false, "ask the registries whether they have each image, with the credentials of docker login; exit with 1 if one is missing")
	cmd.Flags().StringArrayVar(&c.wanted, "platform", nil, "with --check: an `OS/ARCH` that each image must be built for, such as linux/arm64; may be repeated")
	return cmd
}

func (a *app) listImages(c *imageCheck) *cobra.Command {
	return inventoryCommand(a, "images", "List the images of a release",
		`Lists the container images of the newest release in TARGET, of each provider
that it holds, in all kinds of workloads. clusterctl itself only knows those in
Deployments and DaemonSets.`,
		`  COMMAND /srv/repository

  # Do the registries have them, for both architectures?
  COMMAND out/infrastructure-acme --check --platform linux/amd64 --platform linux/arm64

  # Only the references, for a script
  COMMAND out/infrastructure-acme -o json | jq -r '.images[].ref'`,
		inventory.Images, c.write)
}
