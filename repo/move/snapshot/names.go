package snapshot

import (
	"bytes"
	"hash/maphash"
	"strings"
	"sync"
)

// name is a text in an object that may name another one. The text itself is not
// kept: Snapshot.Named compares.
type name struct {
	hash  uint64
	field uint32
}

// Field is where a name stands, and what stands next to it.
type Field struct {
	// Path leads to the name, with a star for the elements of lists.
	Path string
	// Kind and Namespace are those in the same map, if it has any.
	Kind, Namespace string
	// Reference is set if the path says that the text is a reference: the field
	// "name" of a map, or a field whose name speaks of what is referred to.
	Reference bool
}

// seed is that of all hashes in this process.
var seed = maphash.MakeSeed()

// Key is the hash of the name of an object.
func Key(name string) uint64 { return maphash.String(seed, name) }

// Key is what Key gives for the text.
func (n name) Key() uint64 { return n.hash }

// Field says where a name of an object in the snapshot stands.
func (s *Snapshot) Field(n name) Field {
	s.fields.mu.RLock()
	defer s.fields.mu.RUnlock()
	return s.fields.list[n.field]
}

// scanned reports whether objects of a group are searched for names: those of
// Kubernetes itself are not.
func scanned(group string) bool {
	switch group {
	case "", definitionGroup, clusterctlGroup:
		return false
	}
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// fieldTable gives numbers to fields, of which many objects have the same.
type fieldTable struct {
	mu    sync.RWMutex
	known map[string]uint32
	list  []Field
}

// number finds or adds a field by its key: path, kind, namespace.
func (t *fieldTable) number(key []byte) (uint32, bool) {
	t.mu.RLock()
	n, ok := t.known[string(key)]
	t.mu.RUnlock()
	if ok {
		return n, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.known[string(key)]; ok {
		return n, true
	}
	if len(t.list) >= mostFields {
		return 0, false
	}
	parts := strings.Split(string(key), "\x00")
	if t.known == nil {
		t.known = map[string]uint32{}
	}
	n = uint32(len(t.list))
	t.known[string(key)] = n
	t.list = append(t.list, Field{Path: parts[0], Kind: parts[1], Namespace: parts[2], Reference: refers(parts[0])})
	return n, true
}

const (
	// mostFields are told apart.
	mostFields = 1 << 16
	// mostNames of an object are kept, and deepest is how deep they are looked for.
	mostNames = 64
	deepest   = 64
)

// telling are parts of the names of fields that refer to credentials and
// configuration.
var telling = [...]string{"secret", "configmap", "credential", "identity", "ref", "cert", "token", "password", "passwd", "auth", "cloudconfig", "account", "kubeconfig", "userdata"}

// refers reports whether a path says that there is a reference.
func refers(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if last == "name" {
		return true
	}
	path = strings.ToLower(path)
	for _, word := range telling {
		if strings.Contains(path, word) {
			return true
		}
	}
	return false
}

// names finds the texts in an object that could be names of others. The object is
// JSON that was decoded before.
func (t *fieldTable) names(data []byte) []name {
	var room [mostNames]name
	s := nameScanner{table: t, data: data, found: room[:0]}
	s.at = bytes.IndexByte(data, '{') + 1 // only blanks stand before it
	for s.next('}') {
		key := s.key()
		switch string(key) {
		case "apiVersion", "kind", "metadata", "status", "data", "stringData", "binaryData":
			s.skip()
		default:
			s.path = append(s.path[:0], key...)
			s.value(0)
		}
	}
	return append([]name(nil), s.found...) // without the room
}

// nameScanner walks through valid JSON.
type nameScanner struct {
	table *fieldTable
	data  []byte
	at    int
	path  []byte
	key0  []byte // for the table
	found []name
}

func (s *nameScanner) space() {
	for s.data[s.at] <= ' ' {
		s.at++
	}
}

// next reports whether a map or list continues, and reads its end if not.
func (s *nameScanner) next(end byte) bool {
	for {
		switch b := s.data[s.at]; {
		case b <= ' ' || b == ',':
			s.at++
		case b == end:
			s.at++
			return false
		default:
			return true
		}
	}
}

// text reads a string, as it is written.
func (s *nameScanner) text() []byte {
	s.at++
	from := s.at
	for {
		s.at += bytes.IndexByte(s.data[s.at:], '"') + 1
		escapes := 0
		for k := s.at - 2; k >= from && s.data[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return s.data[from : s.at-1]
		}
	}
}

// key reads the name of a field with its colon.
func (s *nameScanner) key() []byte {
	key := s.text()
	s.space()
	s.at++
	s.space()
	return key
}

// skip passes over a value.
func (s *nameScanner) skip() {
	depth := 0
	for {
		switch b := s.data[s.at]; b {
		case '"':
			s.text()
			if depth == 0 {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return // the end of what is around it
			}
			if depth--; depth == 0 {
				s.at++
				return
			}
		case ',':
			if depth == 0 {
				return
			}
		}
		s.at++
	}
}

// value looks for names in a value.
func (s *nameScanner) value(depth int) {
	switch s.data[s.at] {
	case '"':
		s.add(s.text(), nil, nil)
	case '{':
		if depth < deepest {
			s.object(depth)
			return
		}
		s.skip()
	case '[':
		if depth == deepest {
			s.skip()
			return
		}
		s.at++
		length := len(s.path)
		s.path = append(s.path, ".*"...)
		for s.next(']') {
			s.value(depth + 1)
		}
		s.path = s.path[:length]
	default:
		s.skip()
	}
}

// object looks into a map; its name is told with the kind and namespace next to it.
func (s *nameScanner) object(depth int) {
	s.at++
	var name, kind, namespace, other []byte
	length := len(s.path)
	for s.next('}') {
		key := s.key()
		var text *[]byte
		switch string(key) {
		case "name":
			text = &name
		case "kind":
			text = &kind
		case "namespace":
			text = &namespace
		case "apiVersion", "apiGroup", "clusterName", "version", "providerID":
			text = &other
		}
		if text != nil && s.data[s.at] == '"' {
			*text = s.text()
			continue
		}
		s.path = append(append(s.path, '.'), key...)
		s.value(depth + 1)
		s.path = s.path[:length]
	}
	if name != nil {
		s.path = append(s.path, ".name"...)
		s.add(name, kind, namespace)
		s.path = s.path[:length]
	}
}

// add keeps a text if an object could have it for a name.
func (s *nameScanner) add(text, kind, namespace []byte) {
	if len(s.found) == mostNames || !nameable(text) {
		return
	}
	s.key0 = append(append(append(append(append(s.key0[:0], s.path...), 0), kind...), 0), namespace...)
	n, ok := s.table.number(s.key0)
	if !ok {
		return
	}
	s.found = append(s.found, name{maphash.Bytes(seed, text), n})
}

// nameable reports whether a text is a DNS name with a letter in it.
func nameable(text []byte) bool {
	if len(text) == 0 || len(text) > 253 {
		return false
	}
	letter := false
	for _, b := range text {
		switch {
		case b >= 'a' && b <= 'z':
			letter = true
		case b >= '0' && b <= '9', b == '-', b == '.':
		default:
			return false
		}
	}
	return letter
}
