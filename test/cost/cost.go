// Package cost measures whole processes for benchmarks: their time, and the peak
// of their memory. The sides of a comparison run in turns, so that whatever else
// the machine does meets all of them.
//
// It must not know which programs it measures.
package cost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// dir is where timed is built. It measures in a process that is small, because the
// kernel counts the memory of the one that starts a program into the peak of that
// program.
var dir string

var timed = sync.OnceValues(func() (string, error) {
	file := filepath.Join(dir, "timed")
	cmd := exec.Command("go", "build", "-o", file, "github.com/clusterctl-repo/clusterctl-repo/test/cost/timed")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build timed: %w\n%s", err, out)
	}
	return file, nil
})

// In says which folder Run may use. A TestMain calls it, and removes the folder.
func In(folder string) { dir = folder }

// Cost is what one process took, or several that ran one after the other.
type Cost struct {
	// Wall is the time from start to end, CPU that of all threads, in the process
	// and in the system. Upload is how long uploads took for a server that counts.
	Wall, CPU, Upload time.Duration
	// RSS is the peak of memory, in bytes; of several processes the largest.
	RSS int64
	// Exit is the exit code of the last process.
	Exit int
}

// Process is one program to run.
type Process struct {
	Args []string
	Env  []string // all of it
	Dir  string
	// Stdout is the file for what it prints, which is dropped if empty.
	Stdout string
	// MayFail is set if a failure is a result like any other.
	MayFail bool
}

// Run runs processes one after the other and returns what they cost together.
func Run(b *testing.B, processes ...Process) (sum Cost) {
	b.Helper()
	timed, err := timed()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range processes {
		c, err := p.run(b, timed)
		if err != nil {
			b.Fatalf("%.300q: %v", p.Args, err)
		}
		sum = Cost{Wall: sum.Wall + c.Wall, CPU: sum.CPU + c.CPU, RSS: max(sum.RSS, c.RSS), Exit: c.Exit}
	}
	return sum
}

func (p Process) run(b *testing.B, timed string) (c Cost, err error) {
	report := filepath.Join(dir, "cost.json")
	cmd := exec.CommandContext(b.Context(), timed, append([]string{report}, p.Args...)...)
	cmd.Env, cmd.Dir = p.Env, p.Dir
	if p.Stdout != "" {
		f, err := os.Create(p.Stdout)
		if err != nil {
			return c, err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return c, fmt.Errorf("%w\n%.2000s", err, said.Bytes())
	}
	data, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		return c, err
	}
	if c.Exit != 0 && !p.MayFail {
		return c, fmt.Errorf("exit code %d\n%.2000s", c.Exit, said.Bytes())
	}
	return c, nil
}

// Side is one way to do some work.
type Side struct {
	// Name stands before the metrics: it is one word.
	Name string
	// Do does the work once.
	Do func() Cost
}

// Of is a side that runs processes.
func Of(b *testing.B, name string, processes ...Process) Side {
	return Side{name, func() Cost { return Run(b, processes...) }}
}

// Compare runs the sides in turns, as often as the benchmark asks for, and reports
// of each the median of the times and the largest memory. It returns the same.
func Compare(b *testing.B, sides ...Side) []Cost {
	b.Helper()
	all := make([][]Cost, len(sides))
	for b.Loop() {
		for i, s := range sides {
			all[i] = append(all[i], s.Do())
		}
	}
	b.ReportMetric(0, "ns/op") // of all sides together, which says nothing
	out := make([]Cost, len(sides))
	for i, s := range sides {
		middle := func(of func(Cost) time.Duration) time.Duration {
			var times []time.Duration
			for _, c := range all[i] {
				times = append(times, of(c))
				out[i].RSS, out[i].Exit = max(out[i].RSS, c.RSS), c.Exit
			}
			slices.Sort(times)
			return times[len(times)/2]
		}
		out[i].Wall = middle(func(c Cost) time.Duration { return c.Wall })
		out[i].CPU = middle(func(c Cost) time.Duration { return c.CPU })
		b.ReportMetric(float64(out[i].Wall.Microseconds())/1e3, s.Name+"-ms")
		b.ReportMetric(float64(out[i].CPU.Microseconds())/1e3, s.Name+"-cpu-ms")
		if out[i].RSS > 0 {
			b.ReportMetric(float64(out[i].RSS)/1e6, s.Name+"-MB")
		}
		if out[i].Upload = middle(func(c Cost) time.Duration { return c.Upload }); out[i].Upload > 0 {
			b.ReportMetric(float64(out[i].Upload.Microseconds())/1e3, s.Name+"-upload-ms")
		}
	}
	return out
}

// AtMost reports a figure under a name, and tells if it is over the budget. It fails
// nothing, as that depends on the machine.
func AtMost(b *testing.B, name string, figure, budget float64) {
	b.Helper()
	b.ReportMetric(figure, name)
	if figure > budget {
		b.Logf("OVER BUDGET: %s is %.3g, the budget is %.3g", name, figure, budget)
	}
}

// Ratio is how many times the time of another side a side takes.
func Ratio(of, to time.Duration) float64 { return of.Seconds() / to.Seconds() }
