// Package cost says what running a process cost. It is apart so that the
// program that measures can stay tiny. It must not know which process.
package cost

import "time"

// Cost is what one process took, or several that ran one after the other.
type Cost struct {
	// Wall is the time from start to end, CPU that of all its threads, in the
	// process and in the system.
	Wall, CPU time.Duration
	// RSS is the peak of its memory, in bytes; of several the largest.
	RSS int64
	// Exit is the exit code; of several, how many failed.
	Exit int
}

// Add returns the cost of c and then d.
func (c Cost) Add(d Cost) Cost {
	failed := c.Exit
	if d.Exit != 0 {
		failed++
	}
	return Cost{c.Wall + d.Wall, c.CPU + d.CPU, max(c.RSS, d.RSS), failed}
}
