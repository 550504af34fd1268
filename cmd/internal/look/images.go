package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// imageCheck is "images --check-images".
type imageCheck struct {
	env      *cli.Env
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
	var images []oci.Image
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
				c.checked[n].Status, c.checked[n].Problem = report.ImageMissing, "it is not an image name"
				c.bad++
			default:
				images = append(images, oci.Image{Host: host, Repository: path, Reference: cmp.Or(i.Digest, i.Tag, "latest")})
				rows = append(rows, n)
			}
		}
	}
	if len(images) == 0 && len(c.checked) > 0 && c.bad == 0 { // what judged nothing did not pass
		c.odd++
		c.unasked = append(c.unasked, errors.New("no image was checked: the user chooses all of them"))
	}
	for i, s := range oci.CheckImages(c.ctx, images, c.env.Places().Registry) {
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

func ImagesCommand(env *cli.Env) *cobra.Command {
	c := &imageCheck{env: env}
	cmd := inventoryCommand(env, "images", "List the images of a release",
		`Lists the container images of the newest release in TARGET, of each provider
that it holds, in all kinds of workloads. clusterctl itself only knows those in
Deployments and DaemonSets.`,
		`  COMMAND /srv/repository

  # Do the registries have them, for both architectures?
  COMMAND out/infrastructure-acme --check-images \
      --platform linux/amd64 --platform linux/arm64

  # Only the references, for a script
  COMMAND out/infrastructure-acme -o json | jq -r '.images[].ref'`,
		inventory.Images, c.write)
	list := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.ctx = cmd.Context(); len(c.wanted) > 0 && !c.on {
			return cli.Usagef("--platform only works together with --check-images")
		}
		err := list(cmd, args)
		switch {
		case err != nil:
			return err
		case c.odd > 0:
			return cli.Exit(cli.ExitFailed, nil)
		case c.bad > 0:
			return cli.Exit(cli.ExitFindings, nil)
		}
		return nil
	}
	cmd.Flags().BoolVar(&c.on, "check-images", false, "")
	cmd.Flags().StringSliceVar(&c.wanted, "platform", nil, "")
	return cmd
}
