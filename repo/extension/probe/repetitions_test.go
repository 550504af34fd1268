package probe

import (
	"math"
	"testing"
)

// TestRepetitions gives the chance that is asked for, and not much more.
func TestRepetitions(t *testing.T) {
	for _, rarity := range []int{2, 3, 12, 100} {
		for _, chance := range []float64{0.9, 0.99, Chance} {
			n := repetitions(rarity, chance)
			missed := func(n int) float64 { return math.Pow(1-1/float64(rarity), float64(n)) }
			if missed(n) > 1-chance+1e-9 || missed(n-1) < 1-chance-1e-9 {
				t.Errorf("1 in %d, %v: %d calls", rarity, chance, n)
			}
		}
	}
	if repetitions(0, 2) != 1 || repetitions(2, 2) < 10 {
		t.Error("odd options")
	}
}
