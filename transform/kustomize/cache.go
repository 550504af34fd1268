package kustomize

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// cacheLimit is how many bytes a cache may hold; the entries that were not used for the
// longest time go first.
const cacheLimit = 256 << 20

// Cache keeps what was built from files, until one of the files changes. It is a
// folder of entries, each of which says what its maker saw: the content of each file it
// read, and what it did not find. It counts only as long as all of that is the
// same. It is safe for concurrent use, also by several
// processes. A nil Cache holds nothing.
type Cache struct {
	dir     string
	program string
}

// OpenCache returns the cache in a folder, which is made when something is kept. Program
// names the program and its version: another one does not use its entries.
func OpenCache(dir, program string) *Cache { return &Cache{dir, program} }

// digest sums up an answer.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// head is the first line of an entry.
type head struct {
	Key string `json:"key"`
	// Seen is what a maker saw: a digest of each answer, by question.
	Seen map[string]string `json:"seen"`
}

// name is the file of an entry.
func (c *Cache) name(key string) string {
	return filepath.Join(c.dir, digest([]byte(c.program), []byte(key))[:40])
}

// Get returns the result that was kept for a key, if every question gets the same
// answer again. Damaged entries count as missing.
func (c *Cache) Get(key string, ask func(question string) string) (result []byte, ok bool) {
	if c == nil {
		return nil, false
	}
	name := c.name(key)
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > cacheLimit {
		return nil, false // a pipe would block, and Put makes no such entry
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	sum, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(sum) != digest(rest) {
		return nil, false
	}
	line, result, ok := bytes.Cut(rest, []byte("\n"))
	var h head
	if !ok || json.Unmarshal(line, &h) != nil || h.Key != c.program+"\n"+key {
		return nil, false
	}
	for question, answer := range h.Seen {
		if ask(question) != answer {
			return nil, false
		}
	}
	if time.Since(info.ModTime()) > time.Hour {
		now := time.Now()
		_ = os.Chtimes(name, now, now) // only the order of removal depends on it
	}
	return result, true
}

// Put keeps a result. What cannot be kept is built again next time, so Put returns
// no error.
func (c *Cache) Put(key string, saw map[string]string, result []byte) {
	if c == nil || len(result) > cacheLimit/8 {
		return
	}
	line, err := json.Marshal(head{c.program + "\n" + key, saw})
	if err != nil || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	rest := slices.Concat(line, []byte("\n"), result)
	f, err := os.CreateTemp(c.dir, temporary+"*")
	if err != nil {
		return
	}
	_, err = f.Write(slices.Concat([]byte(digest(rest)+"\n"), rest))
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.name(key))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	c.shrink()
}

const temporary = "new-"

var shrinking sync.Mutex

// shrink removes the oldest entries of a cache that is too large, and what
// interrupted writers left.
func (c *Cache) shrink() {
	shrinking.Lock()
	defer shrinking.Unlock()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	var size int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasPrefix(e.Name(), temporary) {
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(c.dir, e.Name()))
			}
			continue
		}
		files, size = append(files, info), size+info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if size <= cacheLimit {
			return
		}
		if os.Remove(filepath.Join(c.dir, f.Name())) == nil {
			size -= f.Size()
		}
	}
}
