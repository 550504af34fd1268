package extension

import "time"

// Latency is how long the calls of one handler took.
type Latency struct {
	// Name is what was called.
	Name  string
	Calls int
	// Median, P95 and Max are over all calls. Limit is the timeout of a call, 0 if
	// it has none.
	Median, P95, Max, Limit time.Duration
}
