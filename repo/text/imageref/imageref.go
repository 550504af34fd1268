package imageref

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of Parse and ParseCanonical, with the words that clusterctl prints.
var (
	errFormat       = errors.New("invalid reference format")
	errUpperCase    = errors.New("repository name must be lowercase")
	errTooLong      = fmt.Errorf("repository name must not be more than %d characters", longestPath)
	errDigestFormat = errors.New("invalid checksum digest format")
	errDigestLength = errors.New("invalid checksum digest length")
	errAlgorithm    = errors.New("unsupported digest algorithm")
	// ErrNotCanonical is that of ParseCanonical for names without a registry.
	ErrNotCanonical = errors.New("repository name must be canonical")
)

const (
	longestPath   = 255
	longestTag    = 128
	defaultDomain = "docker.io"
)

// hexDigits is the length of the digests of each algorithm.
var hexDigits = map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}

// Ref is a complete reference: Domain/Path:Tag@Digest.
type Ref struct {
	// Domain is the registry with its port. It is empty if what stands before the
	// first slash looks like a registry and has characters that no host may have.
	Domain string
	// Path is the rest of the name, in lower case.
	Path string
	// Tag and Digest, such as sha256:…, are empty if they are absent.
	Tag, Digest string
}

// Name returns the registry and the path.
func (r Ref) Name() string {
	if r.Domain == "" {
		return r.Path
	}
	return r.Domain + "/" + r.Path
}

// String returns the reference in full.
func (r Ref) String() string {
	out := r.Name()
	if r.Tag != "" {
		out += ":" + r.Tag
	}
	if r.Digest != "" {
		out += "@" + r.Digest
	}
	return out
}

// Full returns a name with the registry that it stands for, as clusterctl wants it;
// what is not a valid name stays as it is.
func Full(name string) string {
	if r, err := Parse(name); err == nil {
		return r.Name()
	}
	return name
}

// ParseCanonical reads a reference that names its registry, as clusterctl demands of
// the images of components (clusterctl: internal/util/objs.go and
// client/config/imagemeta_client.go, which call ParseNamed of
// github.com/distribution/reference). The tests compare it with that library, which
// compiles a dozen regular expressions whenever the program starts.
func ParseCanonical(s string) (Ref, error) {
	r, err := Parse(s)
	if err == nil && r.String() != s {
		return Ref{}, ErrNotCanonical
	}
	return r, err
}

// Parse reads a reference and adds the registry and folder of Docker where they are
// left out (ParseNormalizedNamed of the library).
func Parse(s string) (Ref, error) {
	if len(s) == 64 && all(s, isHexLower) {
		return Ref{}, fmt.Errorf("invalid repository name (%s), cannot specify 64-byte hexadecimal strings", s)
	}
	domain, rest := split(s)
	remote, _, _ := strings.Cut(rest, ":")
	if strings.ToLower(remote) != remote {
		return Ref{}, fmt.Errorf("invalid reference format: repository name (%s) must be lowercase", remote)
	}
	r, ok := match(domain, rest)
	if !ok {
		if _, ok := match(strings.ToLower(domain), strings.ToLower(rest)); ok {
			return Ref{}, errUpperCase
		}
		return Ref{}, errFormat
	}
	if len(r.Path) > longestPath {
		return Ref{}, errTooLong
	}
	return r, checkDigest(r.Digest)
}

// Split takes a reference apart without judging it: a name without a registry stays as
// it is, and so do texts that are no reference.
func Split(s string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(s, "@")
	// A colon before the last slash belongs to the port of a registry.
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name, tag = name[:colon], name[colon+1:]
	}
	return name, tag, digest
}

// split separates the registry, as Docker recognizes one.
func split(s string) (domain, rest string) {
	first, rest, ok := strings.Cut(s, "/")
	switch {
	case !ok:
		return defaultDomain, "library/" + s
	case first == "index.docker.io":
		first = defaultDomain
	case first == "localhost", strings.ContainsAny(first, ".:"), strings.ToLower(first) != first:
	default:
		first, rest = defaultDomain, s
	}
	if first == defaultDomain && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	return first, rest
}

// match takes the part after the registry apart.
func match(domain, rest string) (Ref, bool) {
	name, digest, hasDigest := strings.Cut(rest, "@")
	path, tag, hasTag := strings.Cut(name, ":")
	r := Ref{Domain: domain, Path: path, Tag: tag, Digest: digest}
	if hasTag && !isTag(tag) || hasDigest && !isDigest(digest) {
		return r, false
	}
	if !isHost(domain) {
		r.Domain, r.Path = "", domain+"/"+path
	}
	return r, isPath(r.Path)
}

// isHost reports whether a text is a host name or an IPv6 address, with a port or
// without.
func isHost(s string) bool {
	host := s
	if strings.HasPrefix(s, "[") {
		address, port, ok := strings.Cut(s[1:], "]")
		return ok && address != "" && all(address, func(c byte) bool { return isHex(c) || c == ':' }) && isPort(port)
	}
	if i := strings.IndexByte(s, ':'); i >= 0 {
		if !isPort(s[i:]) {
			return false
		}
		host = s[:i]
	}
	for part := range strings.SplitSeq(host, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' || !all(part, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' }) {
			return false
		}
	}
	return true
}

func isPort(s string) bool {
	return s == "" || s[0] == ':' && len(s) > 1 && all(s[1:], isDigit)
}

// isPath reports whether a text is components with slashes between them.
func isPath(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if !isComponent(part) {
			return false
		}
	}
	return true
}

// isComponent reports whether a text is lower-case words, with a dot, one or two
// underscores or any number of dashes between them.
func isComponent(s string) bool {
	for {
		word := prefix(s, func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' })
		if word == 0 || word == len(s) {
			return word > 0
		}
		s = s[word:]
		switch dashes := prefix(s, func(c byte) bool { return c == '-' }); {
		case dashes > 0:
			s = s[dashes:]
		case strings.HasPrefix(s, "__"):
			s = s[2:]
		case s[0] == '.', s[0] == '_':
			s = s[1:]
		default:
			return false
		}
	}
}

func isTag(s string) bool {
	return s != "" && len(s) <= longestTag && s[0] != '.' && s[0] != '-' &&
		all(s, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '-' })
}

// isDigest reports whether a text looks like an algorithm and a digest.
func isDigest(s string) bool {
	algorithm, digest, ok := strings.Cut(s, ":")
	if !ok || len(digest) < 32 || !all(digest, isHex) {
		return false
	}
	for {
		word := prefix(algorithm, func(c byte) bool { return isLetter(c) || isDigit(c) })
		if word == 0 || !isLetter(algorithm[0]) {
			return false
		}
		if algorithm = algorithm[word:]; algorithm == "" {
			return true
		}
		if !strings.Contains("-_+.", algorithm[:1]) {
			return false
		}
		algorithm = algorithm[1:]
	}
}

// checkDigest reports a digest of an unknown algorithm or of another length.
func checkDigest(s string) error {
	if s == "" {
		return nil
	}
	algorithm, digest, _ := strings.Cut(s, ":")
	digits, ok := hexDigits[algorithm]
	switch {
	case !ok:
		return errAlgorithm
	case len(digest) != digits:
		return errDigestLength
	case !all(digest, isHexLower):
		return errDigestFormat
	}
	return nil
}

// prefix counts the bytes at the start that are of a kind.
func prefix(s string, of func(byte) bool) int {
	for i := range len(s) {
		if !of(s[i]) {
			return i
		}
	}
	return len(s)
}

func all(s string, of func(byte) bool) bool { return prefix(s, of) == len(s) }

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLetter(c byte) bool   { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isHexLower(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }
func isHex(c byte) bool      { return isHexLower(c) || 'A' <= c && c <= 'F' }
