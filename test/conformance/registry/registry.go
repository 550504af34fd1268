// Package registry runs the registry of the Distribution project, Debian's
// docker-registry, for as long as a test or a measurement needs it. It must not
// know what is stored there.
package registry

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Registry is a running registry.
type Registry struct {
	// Host is its address, 127.0.0.1 and a port.
	Host string

	cmd     *exec.Cmd
	stdin   io.Closer
	reading sync.WaitGroup
}

// script runs a registry until its input ends, which is when this process ends,
// however that ends.
const script = `"$0" serve "$1" & pid=$!; cat >/dev/null; kill $pid; wait`

// Start runs a registry that keeps everything in a folder, on a port that is free.
// The error wraps exec.ErrNotFound if the program is not installed.
func Start(dir string) (*Registry, error) {
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		return nil, fmt.Errorf("no docker-registry, install Debian's package of that name: %w", err)
	}
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: '127.0.0.1:0'}\n", dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	r := &Registry{cmd: exec.Command("sh", "-c", script, path, config)}
	r.cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	said, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	// The registry says which port it got.
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)`)
	host := make(chan string, 1)
	r.reading.Go(func() {
		defer close(host)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				host <- m[1]
				break
			}
		}
		_, _ = io.Copy(io.Discard, said)
	})
	select {
	case r.Host = <-host:
	case <-time.After(10 * time.Second):
	}
	if r.Host == "" {
		r.Close()
		return nil, errors.New("the registry does not start")
	}
	return r, nil
}

// Close ends the registry.
func (r *Registry) Close() {
	_ = r.stdin.Close()
	r.reading.Wait()
	_ = r.cmd.Wait()
}
