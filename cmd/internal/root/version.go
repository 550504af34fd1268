package root

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// Set by the builds of releases (-ldflags -X). Without them the build
// information of the Go toolchain is used.
var (
	version string // v1.2.3
	commit  string // 40 hex digits
	date    string // RFC 3339
)

var versionDocument = report.Document{Kind: "version", Version: 1, Body: build{}, Title: "which program this is"}

type build struct {
	Version    string              `json:"version" doc:"the version, such as v1.2.3, or (devel)"`
	Commit     string              `json:"commit" doc:"the commit it was built from, or the first digits of it; empty if it is not recorded"`
	Date       string              `json:"date" doc:"when that was made, in RFC 3339; empty if it is not recorded"`
	Modified   bool                `json:"modified" doc:"there were local changes"`
	Go         string              `json:"go" doc:"the version of Go"`
	Platform   string              `json:"platform" doc:"operating system and architecture, such as linux/amd64"`
	Clusterctl string              `json:"clusterctl" doc:"the version of clusterctl whose output render prints"`
	Contracts  []contract.Contract `json:"contracts" doc:"the contracts of Cluster API that it checks, the current one first"`
}

// pseudo is the end of a version that Go derived from a commit.
var pseudo = phrase.Pattern(`[-.](\d{14})-([0-9a-f]{12})(\+.*)?$`)

// buildOf combines what the release build set with what Go recorded. A version
// that Go derived from a commit tells the time and the first digits of the
// commit, so that "go install" names it too.
func buildOf(info *debug.BuildInfo) build {
	b := build{
		Version: version, Commit: commit, Date: date,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Clusterctl: clusterctl.Release, Contracts: contract.Accepted[:],
	}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	b.Version = cmp.Or(b.Version, info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, s.Value)
		case "vcs.modified":
			b.Modified = s.Value == "true" && version == ""
		}
	}
	if m := pseudo().FindStringSubmatch(b.Version); m != nil {
		b.Commit = cmp.Or(b.Commit, m[2])
		if at, err := time.Parse("20060102150405", m[1]); err == nil {
			b.Date = cmp.Or(b.Date, at.Format(time.RFC3339))
		}
	}
	return b
}

func programBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

func Version() string { return programBuild().Version }

func (b build) text() string {
	contracts := phrase.List(b.Contracts, func(c contract.Contract) string { return string(c) })
	from := b.Commit
	switch {
	case from == "" && strings.HasPrefix(b.Version, "v"):
		from = "that of the tag " + b.Version
	case from == "":
		from = "not recorded in this build"
	case b.Modified:
		from += ", with local changes"
	}
	return fmt.Sprintf("clusterctl-repo %s\n  commit      %s\n  date        %s\n  go          %s %s\n  clusterctl  %s, whose output render prints\n  contracts   %s\n",
		b.Version, from, cmp.Or(b.Date, "not recorded in this build"), b.Go, b.Platform, b.Clusterctl, strings.Join(contracts, ", "))
}

func printVersion(env *cli.Env, o *cli.Outputs) error {
	b := programBuild()
	return env.Write(o, func(w io.Writer, format string, _ term.Style) error {
		if format == "json" {
			return versionDocument.Write(w, nil, b)
		}
		_, err := io.WriteString(w, b.text())
		return err
	})
}

func VersionCommand(env *cli.Env) *cobra.Command {
	o := cli.Outputs{Formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Prints the version of this program, the commit it was built from, the clusterctl
whose output "render" prints, and the contracts of Cluster API it checks.
"clusterctl-repo --version" prints the same.`,
		Example: `  clusterctl-repo version
  clusterctl-repo version -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return printVersion(env, &o) },
	}
	o.Bind(cmd.Flags())
	return cmd
}

// VersionFlag adds --version, with -o as the version command has it, to a
// command that otherwise shows its help.
func VersionFlag(env *cli.Env, cmd *cobra.Command) {
	o := cli.Outputs{Formats: []string{"text", "json"}}
	asked := cmd.Flags().Bool("version", false, "")
	o.Bind(cmd.Flags())
	_ = cmd.Flags().MarkHidden("output") // it is for --version only
	cmd.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case *asked:
			if err := o.Parse(); err != nil {
				return err
			}
			return printVersion(env, &o)
		case c.Flags().Changed("output"):
			return cli.Usagef("-o needs a command, or --version. Run %q for usage.", c.CommandPath()+" --help")
		}
		return c.Help()
	}
}
