package repo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// Sum is the SHA-256 of a file.
type Sum [sha256.Size]byte

// String returns the sum in lower-case hexadecimal.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// buffers are those of Copy. One for each of a thousand small files would be most
// of the memory that publishing takes.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 32<<10)) }}

// Copy writes the content to w in constant memory and returns its checksum.
// It fails if the content is not exactly Size bytes long, because then the
// file changed after it was listed, and with the cause of ctx once that is
// done. A file of a release that has to fit in memory, because others read it whole,
// is refused before anything of it is read if it is larger than MaxFileSize.
func (a *Artifact) Copy(ctx context.Context, w io.Writer) (Sum, error) {
	if a.Kind() != layouts.Asset {
		if err := a.fits(); err != nil {
			return Sum{}, err
		}
	}
	r, err := a.open()
	if err != nil {
		return Sum{}, err
	}
	defer r.Close()
	h := sha256.New()
	if a.own {
		w = struct{ io.Writer }{w} // a file would take a buffer of its own
	} else {
		w = io.MultiWriter(w, h)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	// One byte more than expected is enough to see that the file grew.
	n, err := io.CopyBuffer(w, io.LimitReader(contextReader{ctx, r}, a.Size+1), *buffer)
	if err != nil {
		return Sum{}, fmt.Errorf("%s: %w", a.Path, err)
	}
	if n != a.Size {
		return Sum{}, fmt.Errorf("%s: the file no longer has the %d bytes it had when it was listed; it must not change while it is read", a.Path, a.Size)
	}
	if a.own {
		return *a.stated, nil
	}
	sum := Sum(h.Sum(nil))
	if err := a.compare(sum); err != nil {
		return Sum{}, err
	}
	a.Remember(sum)
	return sum, nil
}

// compare fails if the content is not what the place of the file states.
func (a *Artifact) compare(sum Sum) error {
	if a.stated == nil || *a.stated == sum {
		return nil
	}
	return fmt.Errorf("%s: the content has the checksum %s, but %s was stated; it was changed or damaged in transit",
		a.Path, sum, a.stated)
}

// Sum reads the content, unless that is Hashed, and returns its checksum. Errors
// are those of Copy.
func (a *Artifact) Sum(ctx context.Context) (Sum, error) {
	if a.own {
		return *a.stated, nil
	}
	return a.Copy(ctx, io.Discard)
}

// Stated returns the checksum that the place of the file states, if it does.
// Nothing is read.
func (a *Artifact) Stated() (sum Sum, ok bool) {
	if a.stated == nil {
		return Sum{}, false
	}
	return *a.stated, true
}

// Digest returns the checksum that the place of the file states, or the one
// that was found when the content was last read whole; otherwise it reads the
// content. Errors are those of Copy.
func (a *Artifact) Digest(ctx context.Context) (Sum, error) {
	if a.stated != nil {
		return *a.stated, nil
	}
	if a.read != nil {
		if sum := a.read.Load(); sum != nil {
			return *sum, nil
		}
	}
	return a.Sum(ctx)
}

// Remember keeps the checksum of the whole content, which the caller computed
// while reading it, for Digest.
func (a *Artifact) Remember(sum Sum) {
	if a.read != nil {
		a.read.Store(&sum)
	}
}

// ParseSum reads 64 hexadecimal digits of either case.
func ParseSum(text string) (sum Sum, ok bool) {
	if len(text) != 2*sha256.Size {
		return Sum{}, false
	}
	_, err := hex.Decode(sum[:], []byte(text))
	return sum, err == nil
}

// checked compares content with the stated checksum at its end.
type checked struct {
	io.ReadCloser
	hash hash.Hash
	a    *Artifact
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.hash.Write(p[:n])
	if err == io.EOF {
		if err := c.a.compare(Sum(c.hash.Sum(nil))); err != nil {
			return n, err
		}
	}
	return n, err
}

// contextReader stops reading when the context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// Checksums returns the content of the checksum file of r: one line per
// artifact, in the order of r, which is that of the names, in the format of
// sha256sum(1). The checksum file itself and its signature have no line.
func Checksums(ctx context.Context, r *Release) ([]byte, error) {
	var out bytes.Buffer
	for _, a := range r.Artifacts {
		if !summed(a.Name) {
			continue
		}
		sum, err := a.Digest(ctx)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, a.Name)
	}
	return out.Bytes(), nil
}

// summed reports whether the checksum file can list a file: not itself, nor
// what is made of it.
func summed(name string) bool {
	return name != layouts.ChecksumFile && name != layouts.SignatureFile
}

// checksumProblem is one way in which a checksum file and its release differ.
type checksumProblem struct {
	// Line counts from 1 in the checksum file; 0 for a file without a line.
	Line int
	// Message says what is wrong.
	Message string
}

// ChecksumError lists all problems of a checksum file.
type ChecksumError struct {
	// Path is where the checksum file is.
	Path     string
	Problems []checksumProblem
}

// Error puts every problem on a line of its own.
func (e *ChecksumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s does not match the files next to it", e.Path)
	for _, p := range e.Problems {
		if p.Line > 0 {
			fmt.Fprintf(&b, "\n  line %d: %s", p.Line, p.Message)
		} else {
			fmt.Fprintf(&b, "\n  %s", p.Message)
		}
	}
	return b.String()
}

// VerifyChecksums compares the checksum file of r with its artifacts: every
// line must be true, and every artifact must have one that Checksums gives one. The error is
// a *ChecksumError if they differ, and wraps fs.ErrNotExist if r has no
// checksum file. What the place of a file states is not compared with the content.
func VerifyChecksums(ctx context.Context, r *Release) error {
	file := r.Artifact(layouts.ChecksumFile)
	if file == nil {
		return Missing("%s has no %s", r.Path, layouts.ChecksumFile)
	}
	data, err := file.Bytes()
	if err != nil {
		return err
	}
	failed := &ChecksumError{Path: file.Path}
	problem := func(line int, format string, args ...any) {
		failed.Problems = append(failed.Problems, checksumProblem{line, fmt.Sprintf(format, args...)})
	}
	if what := Unfit(data); what != "" {
		problem(0, "it is %s instead of a list of checksums; a server answered with something else when it was fetched", what)
		return failed
	}
	missing := make(map[string]*Artifact, len(r.Artifacts)) // has no line yet
	for _, a := range r.Artifacts {
		if summed(a.Name) {
			missing[a.Name] = a
		}
	}
	listed := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, MaxFileSize)
	for n := 1; lines.Scan(); n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if isChecksumComment(lines.Text()) {
			continue
		}
		want, name, ok := parseChecksum(lines.Text())
		if !ok {
			problem(n, "expected 64 hexadecimal digits, two spaces and a file name")
			continue
		}
		if first := listed[name]; first > 0 {
			problem(n, "%s was already listed on line %d", name, first)
			continue
		}
		listed[name] = n
		if !summed(name) {
			problem(n, "%s cannot be listed in %s, because it is made from that file", name, file.Name)
			continue
		}
		a := missing[name]
		if a == nil {
			problem(n, "%s is missing", name)
			continue
		}
		delete(missing, name)
		got, err := a.Digest(ctx)
		if err != nil {
			return err
		}
		if got != want {
			problem(n, "%s has the checksum %s", name, got)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	for _, a := range r.Artifacts {
		if missing[a.Name] == a {
			problem(0, "%s has no line", a.Name)
		}
	}
	if len(failed.Problems) > 0 {
		return failed
	}
	return nil
}

// isChecksumComment reports whether sha256sum --check skips a line of a checksum
// file (coreutils: digest_check).
func isChecksumComment(line string) bool { return strings.HasPrefix(line, "#") }

// ParseChecksums returns the checksums in a checksum file by file name, also of lines
// with a single space, which VerifyChecksums reports. Other lines are left out.
func ParseChecksums(data []byte) map[string]Sum {
	out := map[string]Sum{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		sum, name, ok := parseChecksum(line)
		if hex, rest, _ := strings.Cut(line, " "); !ok {
			sum, ok = ParseSum(hex)
			name = strings.TrimPrefix(rest, "./")
		}
		if ok && name != "" {
			out[name] = sum
		}
	}
	return out
}

// parseChecksum reads a line as `sha256sum --check` does: text or binary mark
// before the name, digits of either case. Names that need escaping do not
// occur in a release.
func parseChecksum(line string) (sum Sum, name string, ok bool) {
	const digits = 2 * sha256.Size
	if len(line) < digits+3 || line[digits] != ' ' || line[digits+1] != ' ' && line[digits+1] != '*' {
		return Sum{}, "", false
	}
	if sum, ok = ParseSum(line[:digits]); !ok {
		return Sum{}, "", false
	}
	return sum, strings.TrimPrefix(line[digits+2:], "./"), true
}
