package kustomize

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func same(string) string { return "answer" }

func TestEntriesCountWhileTheAnswersAreTheSame(t *testing.T) {
	c := OpenCache(filepath.Join(t.TempDir(), "cache"), "program 1")
	if _, ok := c.Get("key", same); ok {
		t.Error("an empty cache has an entry")
	}
	c.Put("key", map[string]string{"a": "answer", "b": "answer"}, []byte("result\n\x00"))
	if got, ok := c.Get("key", same); !ok || string(got) != "result\n\x00" {
		t.Errorf("%q, %v", got, ok)
	}
	for name, got := range map[string]func() ([]byte, bool){
		"another answer":  func() ([]byte, bool) { return c.Get("key", func(q string) string { return q }) },
		"another key":     func() ([]byte, bool) { return c.Get("other", same) },
		"another program": func() ([]byte, bool) { return OpenCache(c.dir, "program 2").Get("key", same) },
		"no cache":        func() ([]byte, bool) { return (*Cache)(nil).Get("key", same) },
	} {
		if _, ok := got(); ok {
			t.Errorf("%s: there is an entry", name)
		}
	}
}

func TestDamagedEntriesCountAsMissing(t *testing.T) {
	c := OpenCache(t.TempDir(), "program")
	c.Put("key", map[string]string{"a": "answer"}, []byte("result"))
	file := c.name("key")
	whole := given.Read(t, file)
	for i := range whole {
		for _, damaged := range [][]byte{whole[:i], append(append(append([]byte{}, whole[:i]...), whole[i]^1), whole[i+1:]...)} {
			given.NoError(t, os.WriteFile(file, damaged, 0o600))
			if got, ok := c.Get("key", same); ok {
				t.Fatalf("byte %d changed: %q", i, got)
			}
		}
	}
	// The entry of another key under this name.
	c.Put("other", map[string]string{}, []byte("other"))
	given.NoError(t, os.Rename(c.name("other"), file))
	if _, ok := c.Get("key", same); ok {
		t.Error("the entry of another key counts")
	}

	// What is not an entry: Get neither blocks nor reads it, and Put replaces it.
	elsewhere := filepath.Join(t.TempDir(), "entry")
	given.NoError(t, os.WriteFile(elsewhere, whole, 0o600))
	for what, put := range map[string]func() error{
		"link":  func() error { return os.Symlink(elsewhere, file) },
		"pipe":  func() error { return syscall.Mkfifo(file, 0o600) },
		"giant": func() error { return cmp.Or(os.WriteFile(file, whole, 0o600), os.Truncate(file, 1<<40)) },
	} {
		given.NoError(t, cmp.Or(os.Remove(file), put()))
		if _, ok := c.Get("key", same); ok {
			t.Errorf("a %s counts", what)
		}
		c.Put("key", map[string]string{"a": "answer"}, []byte("result"))
		if got, ok := c.Get("key", same); !ok || string(got) != "result" {
			t.Errorf("a %s is not replaced", what)
		}
	}
	if got, err := os.ReadFile(elsewhere); err != nil || string(got) != string(whole) {
		t.Errorf("the target of a link changed: %v", err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := OpenCache(t.TempDir(), "program")
	big := make([]byte, cacheLimit/10)
	for i := range 12 {
		c.Put(fmt.Sprint(i), map[string]string{}, big)
		old := time.Now().Add(time.Duration(i-100) * time.Hour)
		_ = os.Chtimes(c.name(fmt.Sprint(i)), old, old)
	}
	if _, ok := c.Get("0", same); ok {
		t.Error("the oldest entry is still there")
	}
	if _, ok := c.Get("11", same); !ok {
		t.Error("the newest entry is gone")
	}
	c = OpenCache(t.TempDir(), "program")
	full := filepath.Join(c.dir, "full")
	given.File(t, full, "")
	given.NoError(t, os.Truncate(full, cacheLimit))
	c.shrink()
	if _, err := os.Stat(full); err != nil {
		t.Errorf("a cache that is just full: %v", err)
	}
}

func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := OpenCache(dir, "program")
			for range 50 {
				c.Put("key", map[string]string{}, fmt.Append(nil, i))
				if got, ok := c.Get("key", same); !ok || len(got) != 1 {
					t.Errorf("%q, %v", got, ok)
				}
			}
		})
	}
	wg.Wait()
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}
