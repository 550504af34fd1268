// Package git asks git what it knows of a folder, and takes files out of a
// commit without changing anything in the repository. It must not know what the
// files are for.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/program"
)

// The errors of Open and Commit.
var (
	// ErrNoRepository: the folder lies in no git repository, or git is missing. Any other
	// error says that git does not tell.
	ErrNoRepository = errors.New("not in a git repository")
	// ErrNoRevision: the repository has no such commit.
	ErrNoRevision = errors.New("unknown revision")
)

// tree is the working tree that a folder lies in.
type tree struct {
	// Root is the top folder of the working tree, without symbolic links.
	Root string
	// Path is the folder that was opened, relative to Root, with slashes.
	Path string
}

// Open finds the working tree that a folder lies in. The error wraps
// ErrNoRepository if it lies in none.
func Open(ctx context.Context, dir string) (*tree, error) {
	// Links are followed so that the folder can be found below git's root.
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	out, err := git(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		if strings.Contains(err.Error(), "not a git repository") {
			return nil, ErrNoRepository
		}
		if errors.Is(err, program.ErrNotFound) {
			return nil, fmt.Errorf("%w: %w", ErrNoRepository, err)
		}
		return nil, fmt.Errorf("ask git about %s: %w", dir, err)
	}
	root := filepath.FromSlash(strings.TrimSuffix(string(out), "\n"))
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	return &tree{Root: root, Path: filepath.ToSlash(rel)}, nil
}

// Commit returns the hash of the commit that a revision names. The error wraps
// ErrNoRevision if there is none, also in a shallow clone that lacks it.
func (r *tree) Commit(ctx context.Context, revision string) (string, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%w %q", ErrNoRevision, revision)
	}
	out, err := git(ctx, r.Root, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	switch {
	case ctx.Err() != nil:
		return "", err
	case err != nil:
		return "", fmt.Errorf("%w %q", ErrNoRevision, revision)
	}
	return strings.TrimSpace(string(out)), nil
}

// Shallow reports whether the clone lacks older commits.
func (r *tree) Shallow(ctx context.Context) bool {
	out, err := git(ctx, r.Root, nil, "rev-parse", "--is-shallow-repository")
	return err == nil && strings.TrimSpace(string(out)) == "true"
}

// Remote returns the URL of the remote "origin"; nothing if there is none.
func (r *tree) Remote(ctx context.Context) (string, error) {
	out, err := git(ctx, r.Root, nil, "config", "--get", "remote.origin.url")
	if unset(err) {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// unset reports whether git config says that it has no such value.
func unset(err error) bool {
	exit, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err)
	return ok && exit.ExitCode() == 1
}

// submodule is one that is checked out, with its name in the superproject and the
// commit that belongs there.
type submodule struct {
	*tree
	name, commit string
}

// submodules returns those in an index, below a folder.
func submodules(ctx context.Context, dir string, env []string) (found []submodule, err error) {
	out, err := git(ctx, dir, env, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	for _, entry := range strings.Split(string(out), "\x00") {
		// 160000 <commit> 0<tab><path>
		facts, name, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(facts)
		if !ok || len(fields) != 3 || fields[0] != "160000" {
			continue
		}
		if r, err := Open(ctx, filepath.Join(dir, filepath.FromSlash(name))); err == nil && r.Path == "." {
			found = append(found, submodule{r, name, fields[1]})
		}
	}
	return found, nil
}

// Renamed returns the names, below Root and with slashes, that tracked files have had
// in a commit, by those that they have now, as far as git treats them as the same.
func (r *tree) Renamed(ctx context.Context, commit string) (map[string]string, error) {
	out, err := git(ctx, r.Root, nil, "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "--find-renames", "--diff-filter=R", "--name-status", "-z", commit)
	if err != nil {
		return nil, err
	}
	before := map[string]string{}
	// R<similarity> NUL <old> NUL <new> NUL
	for fields := range slices.Chunk(strings.Split(string(out), "\x00"), 3) {
		if len(fields) == 3 {
			before[fields[2]] = fields[1]
		}
	}
	return before, nil
}

// Extract writes the files of a commit into a new folder in dir, with the name of the
// tree, as that can tell the provider. Submodules are written as well if their own
// repositories are there and have the commit that belongs to it; otherwise their folders
// stay empty.
func (r *tree) Extract(ctx context.Context, commit, dir string) (at string, err error) {
	at = filepath.Join(dir, filepath.Base(r.Root))
	if err := os.Mkdir(at, 0o755); err != nil {
		return "", err
	}
	return at, extract(ctx, r.Root, commit, at, 0)
}

// deepest is how deep submodules may lie in each other.
const deepest = 8

// extract uses an index of its own, so that the one of the repository stays as
// it is.
func extract(ctx context.Context, root, commit, dir string, depth int) error {
	index := dir + ".index"
	env := []string{"GIT_INDEX_FILE=" + index}
	defer os.Remove(index)
	if _, err := git(ctx, root, env, "read-tree", commit); err != nil {
		return err
	}
	if _, err := git(ctx, root, env, "checkout-index", "--all", "--quiet", "--prefix="+dir+string(filepath.Separator)); err != nil {
		return err
	}
	if depth == deepest {
		return nil
	}
	modules, err := submodules(ctx, root, env)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if _, err := m.Commit(ctx, m.commit); err != nil {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(m.name))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := extract(ctx, m.Root, m.commit, to, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// local are the variables that tie git to one repository, whatever folder it
// runs in. A git hook sets them for its own repository.
var local = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_EXTERNAL_DIFF", "GIT_LITERAL_PATHSPECS",
}

// guard is put before every command of git. The configuration of a repository can
// name programs, and comes with a tree that may be anybody's: monitors, hooks and
// pagers are switched off here, filters in drivers, and transports, which would
// fetch what a partial clone lacks, in alone.
var guard = []string{"git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "credential.helper="}

// alone keeps git from asking people, from writing where it only reads, and from
// running a transport.
var alone = []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"}

// unfiltered are the commands that run no filter.
var unfiltered = []string{"config", "ls-files", "ls-tree", "read-tree", "rev-parse"}

// drivers returns the options that switch off the filters which the repository of a
// folder configures. Those of the user and of the system, such as that of Git LFS,
// stay.
func drivers(ctx context.Context, dir string) (options []string, err error) {
	out, err := git(ctx, dir, nil, "config", "--show-scope", "--includes", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if unset(err) {
		return nil, nil // there are none
	}
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		if parts[i] != "local" && parts[i] != "worktree" {
			continue
		}
		driver := parts[i+1][:strings.LastIndexByte(parts[i+1], '.')]
		if strings.Contains(driver, "=") { // -c would take the rest for a value
			return nil, fmt.Errorf("the configuration of the repository has a filter that cannot be disabled: %q", driver)
		}
		options = append(options, "-c", driver+".clean=", "-c", driver+".smudge=", "-c", driver+".process=", "-c", driver+".required=false")
	}
	return options, nil
}

// git runs git in a folder, with additions to the environment, and returns what
// it prints. No program that the repository names is run.
func git(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	options := guard
	if !slices.Contains(unfiltered, args[0]) {
		off, err := drivers(ctx, dir)
		if err != nil {
			return nil, err
		}
		options = slices.Concat(guard, off)
	}
	var talk bytes.Buffer
	p := program.Program{Args: slices.Concat(options, args), Dir: dir, Env: slices.Concat(alone, env), Unset: local, Stderr: &talk}
	out, err := p.Output(ctx)
	if err != nil && ctx.Err() == nil {
		if text, _, _ := strings.Cut(strings.TrimSpace(talk.String()), "\n"); text != "" {
			err = errors.New(strings.TrimPrefix(text, "fatal: "))
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Tracked returns the files that git tracks in the folder that was opened, by their
// paths below it, with slashes.
func (r *tree) Tracked(ctx context.Context) (map[string]bool, error) {
	out, err := git(ctx, filepath.Join(r.Root, filepath.FromSlash(r.Path)), nil, "ls-files", "-z", "--recurse-submodules")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		names[name] = true
	}
	return names, nil
}
