package converge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
)

// marks are kept at a place for one version. A mark that was set is in every
// list that begins later.
type marks interface {
	// Set sets a mark; it is not an error if it is set already.
	Set(ctx context.Context, mark string) error
	// List returns all marks, and may return other words.
	List(ctx context.Context) ([]string, error)
}

// LostError says that another content has the claim.
type LostError struct {
	// Winner is the content that may be published.
	Winner string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("another publisher has claimed this version for other content (%s); let it finish or run that publisher again, or publish this content under a new version", e.Winner)
}

// errContended says that publishers of other contents are at it at the same
// moment.
var errContended = errors.New("publishers with different content compete for this version")

// maxRounds ends a contest that does not. A publisher that is alone for a
// moment needs one more round than there are.
const maxRounds = 40

// Win claims a version for a content, which is a word of letters and digits. It
// returns nil if the content, and no other one, may be published now or later:
// all calls that ever return nil for one set of marks had the same content. The
// error is a *LostError if another content has won, and *publish.Temporary if
// the contest did not end. Pause is called between rounds and should wait for a
// random time.
//
// Each round is a commit-adopt object (Gafni, "Round-by-round fault detectors",
// 1998). A publisher proposes its content, and looks whether it is alone. Only
// one content can be alone in a round. Who then finds nothing but marks of such
// a content has decided the contest, and who finds one among others carries it
// into the next round in the place of its own.
func Win(ctx context.Context, m marks, content string, pause func(ctx context.Context, round int) error) error {
	own := content
	for round := 1; round <= maxRounds; round++ {
		proposed, err := setAndList(ctx, m, mark{round, proposes, content})
		if err != nil {
			return err
		}
		backing := mark{round, backs, content}
		if !slices.ContainsFunc(proposed, func(x mark) bool { return x.kind == proposes && x.content != content }) {
			backing.kind = sole
		}
		backed, err := setAndList(ctx, m, backing)
		if err != nil {
			return err
		}
		decided := true
		for _, x := range backed {
			switch x.kind {
			case sole:
				content = x.content
			case backs:
				decided = false
			}
		}
		switch {
		case decided && content != own:
			return &LostError{content}
		case decided:
			return nil
		}
		if err := pause(ctx, round); err != nil {
			return err
		}
	}
	return &publish.Temporary{Err: errContended}
}

const (
	proposes = "a"
	backs    = "b"
	sole     = "c"
)

// mark is what a publisher says in a round.
type mark struct {
	round         int
	kind, content string
}

func (x mark) String() string { return fmt.Sprintf("%d-%s-%s", x.round, x.kind, x.content) }

// setAndList sets a mark and returns all marks of its round.
func setAndList(ctx context.Context, m marks, own mark) ([]mark, error) {
	if err := m.Set(ctx, own.String()); err != nil {
		return nil, err
	}
	words, err := m.List(ctx)
	out := []mark{own}
	for _, word := range words {
		parts := strings.SplitN(word, "-", 3)
		if len(parts) != 3 {
			continue
		}
		if n, err := strconv.Atoi(parts[0]); err == nil && n == own.round {
			out = append(out, mark{n, parts[1], parts[2]})
		}
	}
	return out, err
}
