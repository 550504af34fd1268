package converge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// board is a place for marks on which one publisher acts at a time, in an order
// that chance decides.
type board struct {
	set  map[string]bool
	turn map[int]chan struct{} // of publishers that wait to act
	wait chan int
}

var errKilled = errors.New("killed")

// hand is a publisher at a board; it dies when its life is over.
type hand struct {
	*board
	id, life int
}

func (h *hand) act(do func()) error {
	h.wait <- h.id
	<-h.turn[h.id]
	if h.life--; h.life < 0 {
		return errKilled
	}
	do()
	return nil
}

func (h *hand) Set(_ context.Context, mark string) error { return h.act(func() { h.set[mark] = true }) }

// List returns the marks between words of others.
func (h *hand) List(context.Context) (out []string, err error) {
	return out, h.act(func() {
		out = append([]string{"word", "x-a-content"}, slices.Collect(maps.Keys(h.set))...)
	})
}

// contest lets publishers of contents claim, in a random interleaving with
// random deaths, and returns how each ended.
func contest(b *board, r *rand.Rand, contents []string, mortal bool) []error {
	b.turn, b.wait = map[int]chan struct{}{}, make(chan int)
	type end struct {
		id  int
		err error
	}
	ended := make(chan end)
	for id, content := range contents {
		b.turn[id] = make(chan struct{})
		h := &hand{b, id, 1 << 30}
		if mortal && r.IntN(2) == 0 {
			h.life = r.IntN(10)
		}
		go func() {
			err := Win(context.Background(), h, content, func(context.Context, int) error { return nil })
			ended <- end{id, err}
		}()
	}
	out := make([]error, len(contents))
	var waiting []int
	for alive := len(contents); alive > 0; {
		for len(waiting) < alive {
			select {
			case id := <-b.wait:
				waiting = append(waiting, id)
			case e := <-ended:
				out[e.id] = e.err
				alive--
			}
		}
		if alive == 0 {
			break
		}
		// Now and then one runs alone for a while, as with random pauses.
		i := r.IntN(len(waiting))
		for range 1 + r.IntN(8) {
			id := waiting[i]
			b.turn[id] <- struct{}{}
			waiting = slices.Delete(waiting, i, i+1)
			again := false
			select {
			case other := <-b.wait:
				waiting = append(waiting, other)
				i, again = len(waiting)-1, true
			case e := <-ended:
				out[e.id] = e.err
				alive--
			}
			if !again {
				break
			}
		}
	}
	return out
}

// TestContests: in contests of up to five publishers with deaths and
// late comers there is never a second winner, and a rerun of the winner's
// content, or else of any, wins.
func TestContests(t *testing.T) {
	for seed := range uint64(share.Of(1000, 50_000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := &board{set: map[string]bool{}}
		winner := ""
		run := func(contents []string, mortal bool) {
			for i, err := range contest(b, r, contents, mortal) {
				if err == nil && winner == "" {
					winner = contents[i]
				}
				if lost, ok := errors.AsType[*LostError](err); err == nil && winner != contents[i] || ok && winner != "" && lost.Winner != winner {
					t.Fatalf("seed %d: %s won, and %s ended with %v", seed, winner, contents[i], err)
				}
			}
		}
		for range 1 + r.IntN(3) {
			var contents []string
			for range 2 + r.IntN(4) {
				contents = append(contents, fmt.Sprint("x", r.IntN(1+r.IntN(4))))
			}
			run(contents, true)
		}
		last := winner
		if last == "" {
			last = "x0"
		}
		err := contest(b, r, []string{last, last}, false)
		lost, ok := errors.AsType[*LostError](err[0])
		switch {
		case winner != "" && (err[0] != nil || err[1] != nil):
			t.Fatalf("seed %d: a rerun of the winner %s ends with %v", seed, winner, err)
		case winner == "" && ok: // a dead publisher may have won
			if err := contest(b, r, []string{lost.Winner}, false); err[0] != nil {
				t.Fatalf("seed %d: the run that died cannot be finished: %v", seed, err)
			}
		case winner == "" && err[0] != nil:
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// scribbled is a board that already has marks.
type scribbled []string

func (s scribbled) Set(context.Context, string) error      { return nil }
func (s scribbled) List(context.Context) ([]string, error) { return s, nil }

// TestRoundsApart reads the marks of one round only.
func TestRoundsApart(t *testing.T) {
	got, err := setAndList(t.Context(), scribbled{"2-a", "1-a-x", "2-a-y", "3-c-z"}, mark{2, proposes, "own"})
	if want := []mark{{2, proposes, "own"}, {2, proposes, "y"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// TestContested: Win gives up when no round decides, and stops when waiting is cancelled.
func TestContested(t *testing.T) {
	var marks scribbled
	for round := range maxRounds {
		marks = append(marks, mark{round + 1, proposes, "x"}.String(), mark{round + 1, backs, "x"}.String())
	}
	rounds, stop := 0, errors.New("stop")
	pause := func(context.Context, int) error { rounds++; return nil }
	if err := Win(t.Context(), marks, "own", pause); !transport.IsTemporary(err) || rounds != maxRounds {
		t.Errorf("%v after %d rounds", err, rounds)
	}
	pause = func(context.Context, int) error { return stop }
	if err := Win(t.Context(), marks, "own", pause); err != stop {
		t.Errorf("got %v, want %v", err, stop)
	}
}
