package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// printed collects what a program prints while it runs.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *printed) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// wait waits for a text, and forgets what stands before it.
func (l *printed) wait(t *testing.T, text string) {
	t.Helper()
	for range 600 {
		l.mu.Lock()
		all := l.text.String()
		if _, rest, ok := strings.Cut(all, text); ok {
			l.text.Reset()
			l.text.WriteString(rest)
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Fatalf("%q was not printed; since the last text came:\n%s", text, l.text.String())
}

func TestWatchPrintsWhatChanges(t *testing.T) {
	dir := t.TempDir()
	release := filepath.Join(dir, "infrastructure-foo", "v1.0.0")
	given.NoError(t, os.MkdirAll(release, 0o755))
	write := func(name, text string) {
		t.Helper()
		given.NoError(t, os.WriteFile(filepath.Join(release, name), []byte(text), 0o644))
	}
	const metadata = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta1}\n"
	write("metadata.yaml", metadata)
	write("infrastructure-components.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: foo-system\n")
	here := given.Value(os.Getwd())(t)
	ctx, stop := context.WithCancel(t.Context())
	var out, talk printed
	done := make(chan int)
	go func() {
		env := func(string) (string, bool) { return "", false }
		done <- program.Main(ctx, []string{"lint", dir, "--watch"}, cli.IO{In: strings.NewReader(""), Out: io.MultiWriter(&out), Err: &talk, LookupEnv: env, Dir: here})
	}()
	talk.wait(t, "watching 2 files")
	write("metadata.yaml", "kind: [\n")
	talk.wait(t, " new, ")
	out.wait(t, "META")
	write("metadata.yaml", metadata+"# mended\n")
	out.wait(t, "resolved:")
	talk.wait(t, "0 new, ")
	stop()
	if code := <-done; code != cli.ExitOK {
		t.Errorf("the exit code is %d", code)
	}
}

func TestWatchRefusesWhatItCannotDo(t *testing.T) {
	for _, args := range [][]string{
		{"lint", ".", "--watch", "-o", "json"}, {"lint", ".", "--watch", "--fix"}, {"lint", "https://example.com/x/y", "--watch"},
	} {
		var out, talk printed
		env := func(string) (string, bool) { return "", false }
		if code := program.Main(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &talk, LookupEnv: env, Dir: t.TempDir()}); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, talk.text.String())
		}
	}
}
