package report

import (
	"strconv"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// latencyRows are the times of calls as a table with a head.
func latencyRows(latencies []extension.Latency) [][]string {
	rows := [][]string{{"CALL", "CALLS", "P50", "P95", "MAX", "TIMEOUT"}}
	for _, m := range latencies {
		limit := "-"
		if m.Limit > 0 {
			limit = m.Limit.String()
		}
		rows = append(rows, []string{phrase.Visible(m.Name), strconv.Itoa(m.Calls), short(m.Median), short(m.P95), short(m.Max), limit})
	}
	return rows
}

// short is a time in three digits or so.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.Round(time.Microsecond).String()
}
