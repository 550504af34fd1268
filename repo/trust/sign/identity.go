package sign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// identityMark begins the lines of a checksum file that say which release it is
// of: one line for each provider, with its label and the version. sha256sum
// skips them as comments.
const identityMark = "# clusterctl-repo release: "

// identity is a release of one provider.
type identity struct{ Label, Version string }

// String is the form in messages and in the checksum file.
func (i identity) String() string { return i.Label + " " + i.Version }

// identityOf names the releases of several providers that r consists of.
func identityOf(r *repo.Release, in []layouts.Provider) ([]identity, error) {
	if _, err := layouts.ParseVersion(r.Version); err != nil {
		return nil, fmt.Errorf("%s cannot be signed: %w", r.Path, err)
	}
	var out []identity
	for _, p := range in {
		if len(p.Problems()) > 0 {
			return nil, fmt.Errorf("%s cannot be signed: its provider is unknown", r.Path)
		}
		out = append(out, identity{p.Label(), r.Version})
	}
	slices.SortFunc(out, func(a, b identity) int { return strings.Compare(a.Label, b.Label) })
	return slices.Compact(out), nil
}

// identitiesIn reads the identity in a checksum file. A line with the mark and
// another form is an identity that fits no release.
func identitiesIn(sums []byte) (out []identity) {
	for line := range strings.Lines(string(sums)) {
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), identityMark)
		if !ok {
			continue
		}
		label, version, _ := strings.Cut(text, " ")
		out = append(out, identity{label, version})
	}
	return out
}

// verifyIdentity compares the identity that a signature covers with that of r,
// which is used as the files of some providers, or of the one that it names.
func verifyIdentity(r *repo.Release, sums []byte, as []layouts.Provider) error {
	signed := identitiesIn(sums)
	if len(signed) == 0 {
		return identityError(r.Path, nil)
	}
	found := []identity{{r.Provider.Label(), r.Version}}
	ok := r.Provider == (layouts.Provider{}) || slices.Equal(signed, found)
	for _, i := range signed {
		ok = ok && i.Version == r.Version
	}
	if !ok {
		return identityError(r.Path, signed, found...)
	}
	for _, p := range as {
		if i := (identity{p.Label(), r.Version}); !slices.Contains(signed, i) {
			return identityError(r.Path, signed, i)
		}
	}
	return nil
}

// identityError is the error of a good signature of another release, or of files alone if
// nothing is signed. Found is what lies at the path, or what it is used as.
func identityError(path string, signed []identity, found ...identity) error {
	if len(signed) == 0 {
		return fmt.Errorf("%s: the signature covers the files, but not which provider and version they are, so they could come from another release; sign it again with publish --sign-key", path)
	}
	name := func(of []identity) string {
		return strings.Join(phrase.List(of, func(i identity) string { return strings.TrimSpace(i.String()) }), ", ")
	}
	return fmt.Errorf("%s: the signature is for %s, but this is %s", path, name(signed), name(found))
}
