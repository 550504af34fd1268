package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

const (
	// TakesTargets: it has both commands below it and arguments.
	TakesTargets = "takes-targets"
	// Stepwise: it publishes, or writes into a folder, in whole steps. Running it again
	// finishes what an interrupt left.
	Stepwise = "stepwise"
)

// flagValues are the values of flags that take one of a few words.
var flagValues = map[string][]string{
	"color":        {"auto", "always", "never"},
	"fail-on":      {"error", "warning", "info", "never"},
	"min-severity": {"error", "warning", "info"},
	"contract":     {"v1beta1", "v1beta2"},
	"only":         {"patched"},
}

// MayBeEmpty are the flags whose empty value means something, and what. All other flags
// refuse it: in a Makefile it comes from a variable that is not set.
var MayBeEmpty = map[string]string{
	"mirror --image-registry":             "images are no longer taken from another registry",
	"mirror --platform":                   "images are mirrored for all platforms again",
	"render cluster --flavor":             "the default template, as in clusterctl",
	"render cluster --target-namespace":   "the default namespace, as in clusterctl",
	"render cluster --kubernetes-version": "the variable KUBERNETES_VERSION, as in clusterctl",
	"render provider --target-namespace":  "the namespace of the components, as in clusterctl",

	"render topology --flavor":             "the default template, as in clusterctl",
	"render topology --target-namespace":   "the default namespace, as in clusterctl",
	"render topology --kubernetes-version": "the variable KUBERNETES_VERSION, as in clusterctl",
}

// shape is what the values of a flag look like, in all commands that have it.
type shape struct {
	fits func(string) bool
	want string
}

var shapes = map[string]shape{
	"kubernetes-version": {func(s string) bool { _, err := layouts.ParseVersion(s); return err == nil }, "a version such as v1.34.0"},
	"namespace":          {layouts.IsDNSLabel, "the name of one namespace"},
	"platform": {func(s string) bool {
		parts := strings.Split(s, "/")
		return len(parts) >= 2 && len(parts) <= 3 && !slices.Contains(parts, "") && !strings.ContainsAny(s, " \t,:@")
	}, "OS/ARCH, such as linux/arm64"},
	"service": {func(s string) bool {
		namespace, name, _ := strings.Cut(s, "/")
		return layouts.IsDNSLabel(namespace) && layouts.IsDNSLabel(name)
	}, "NAMESPACE/NAME"},
}

// RefuseEmpty makes the flags of a command refuse the empty value, and values of another
// form than the one of the flag. The name is that of the command, without the program's.
func RefuseEmpty(command string, f *pflag.FlagSet) {
	f.VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "stringSlice", "stringArray":
			if f.DefValue == "[]" {
				f.DefValue = "" // which help does not show
			}
		case "string":
		default:
			return
		}
		_, means := MayBeEmpty[command+" --"+f.Name]
		if shape := shapes[f.Name]; !means || shape.fits != nil {
			f.Value = filled{f.Value, means, shape}
		}
	})
}

// filled is the value of a flag that must not be empty, unless that means something, and
// may have a shape.
type filled struct {
	pflag.Value
	means bool
	shape shape
}

func (f filled) Set(value string) error {
	parts := []string{value}
	if f.Type() == "stringSlice" {
		parts = strings.Split(value, ",")
	}
	if f.means && value == "" {
		return f.Value.Set(value)
	}
	for _, part := range parts {
		switch {
		case strings.TrimSpace(part) == "":
			return errors.New("must not be empty; check the variable that it comes from")
		case strings.HasPrefix(part, "--"):
			return errors.New("the value is missing, or its variable is empty")
		case f.shape.fits != nil && !f.shape.fits(part):
			return fmt.Errorf("must be %s", f.shape.want)
		}
	}
	return f.Value.Set(value)
}

// written are the flags that name a file to write, and not one to read.
var written = []string{"output", "receipt", "write-to"}

// Check refuses flags whose file cannot be there, to be read or to be written, before any
// work is done. It sets Outputs.All, and refuses outputs that the command does not have
// and values of --fail-on that are not severities.
func (e *Env) Check(f *pflag.FlagSet) error {
	var errs []error
	f.Visit(func(f *pflag.Flag) {
		if placeholder, _ := pflag.UnquoteUsage(f); !strings.Contains(placeholder, "FILE") {
			return
		}
		names := []string{f.Value.String()}
		if list, ok := given(f).(pflag.SliceValue); ok {
			names = list.GetSlice()
		}
		for _, name := range names {
			if f.Name == "output" {
				_, name, _ = strings.Cut(name, "=")
			}
			if name == "" || name == "-" {
				continue
			}
			write := slices.Contains(written, f.Name)
			info, err := os.Stat(e.Path(name))
			switch {
			case err == nil && info.IsDir():
				err = errors.New("it is a folder, not a file")
			case write:
				switch dir, wrong := os.Stat(filepath.Dir(e.Path(name))); {
				case errors.Is(wrong, fs.ErrNotExist):
					err = fmt.Errorf("the folder %s does not exist", filepath.Dir(name))
				case wrong == nil && !dir.IsDir():
					err = fmt.Errorf("%s is not a folder", filepath.Dir(name))
				default:
					continue
				}
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("--%s %s: %w", f.Name, name, files.Cause(err)))
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return UsageError(err)
	}
	if out := f.Lookup("output"); out != nil && !out.Hidden {
		return given(out).(outputFlag).parse()
	}
	return nil
}

// given is the value of a flag as it was bound.
func given(f *pflag.Flag) pflag.Value {
	if v, ok := f.Value.(filled); ok {
		return v.Value
	}
	return f.Value
}

// Core is the flag --core-version.
type Core struct{ value string }

func (c *Core) Bind(f *pflag.FlagSet) {
	f.StringVar(&c.value, "core-version", "", "")
}

// Parse returns the minor version of Cluster API to judge for.
func (c *Core) Parse() (int, error) {
	if c.value == "" {
		return contract.NewestCore, nil
	}
	core, err := contract.ParseCore(c.value)
	return core, UsageError(err)
}

// Profile is the Cluster API to judge for: a contract, or "" for the one that is
// chosen for each CRD, and --core-version.
func (c *Core) Profile(chosen string) (contract.Profile, error) {
	p := contract.DefaultProfile()
	var err error
	if chosen != "" {
		if p.Contract, err = contract.ParseContract(chosen); err != nil {
			return p, UsageError(err)
		}
	}
	p.Core, err = c.Parse()
	return p, err
}
