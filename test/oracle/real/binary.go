package real

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binary is the stock program with a home of its own.
type Binary struct{ path, home string }

// Build compiles clusterctl from the module that this one requires.
func Build(dir string) (*Binary, error) {
	b := &Binary{path: filepath.Join(dir, "clusterctl"), home: filepath.Join(dir, "home")}
	if err := os.MkdirAll(b.home, 0o755); err != nil {
		return nil, err
	}
	build := exec.Command("go", "run", "-exec", "cp",
		"-ldflags", "-X sigs.k8s.io/cluster-api/version.gitVersion=v1.14.2",
		"sigs.k8s.io/cluster-api/cmd/clusterctl", b.path)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as its releases are built
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build clusterctl: %w\n%s", err, out)
	}
	return b, nil
}

// Path is where the program is.
func (b *Binary) Path() string { return b.path }

// Env is an environment in which clusterctl finds no settings, no cluster and
// no newer version of itself.
func (b *Binary) Env() []string {
	return []string{
		"HOME=" + b.home,
		"XDG_CONFIG_HOME=" + b.home,
		"KUBECONFIG=" + filepath.Join(b.home, "none"),
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true",
	}
}

// Run starts clusterctl with a configuration file and an environment that holds
// only what is given. The error is what clusterctl prints after "Error: ".
func (b *Binary) Run(ctx context.Context, config string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.path, append(args, "--config", config)...)
	cmd.Env = append(b.Env(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return stdout.Bytes(), nil
	case !errors.As(err, &exit):
		return nil, err
	}
	text := stderr.String()
	if i := strings.Index(text, "Error: "); i >= 0 {
		text = text[i+len("Error: "):]
	}
	return nil, errors.New(strings.TrimSpace(text))
}
