package look

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
)

// verdicts keeps the verdicts on releases in a file, one a line, as they are made. A
// line that was cut short by the end of the program is left out when it is read,
// and its release is judged again. Without a file it keeps nothing.
type verdicts struct {
	mu    sync.Mutex
	known map[string]inventory.Release
	file  *os.File
	err   error
}

// record is a line of the file.
type record struct {
	Key     string            `json:"key"`
	Release inventory.Release `json:"release"`
}

// openState reads what a file holds, and opens it to add to it. A file that is not
// there is made, with its folder.
func openState(name string) (*verdicts, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	s := &verdicts{known: map[string]inventory.Release{}}
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	read, kept := 0, 0
	for lines.Scan() {
		read++
		var r record
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Key != "" {
			s.known[r.Key] = r.Release
			kept++
		}
	}
	if kept == 0 && read > 1 {
		return nil, errors.New("the file is not the state of a survey")
	}
	if s.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		_, err = s.file.WriteString("\n") // after a line that was cut short
	}
	return s, err
}

// Close closes the file.
func (s *verdicts) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.err, s.file.Close())
}

func (s *verdicts) get(key string) (inventory.Release, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.known[key]
	return r, ok
}

func (s *verdicts) put(key string, r inventory.Release) {
	if s.file == nil {
		return
	}
	line, err := json.Marshal(record{key, r})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		// One write for each line, so that two runs on one file do not mix them.
		_, err = s.file.Write(append(line, '\n'))
	}
	s.known[key] = r
	s.err = errors.Join(s.err, err)
}
