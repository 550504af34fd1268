package term

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	type shown struct {
		text string
		news bool
	}
	lines := make(chan shown, 100)
	p := begin(func(text string, news bool) {
		if news || text == "" || len(lines) < cap(lines)/2 { // the clock must not wait for the test
			lines <- shown{text, news}
		}
	}, "build", time.Millisecond)
	if got := <-lines; got != (shown{"build", false}) {
		t.Errorf("first shown: %+v", got)
	}
	p.Count("lint", 3, 20, "files")
	p.Count("lint", 4, 20, "files") // too soon
	got := <-lines
	for !got.news {
		got = <-lines
	}
	if got.text != "lint: 3 of 20 files" {
		t.Errorf("news: %q", got.text)
	}
	p.mu.Lock()
	p.began, p.last = p.began.Add(-90*time.Second), p.last.Add(-time.Second)
	p.mu.Unlock()
	p.Show("infrastructure-a\x1b", 1024, 4096)
	for got = <-lines; !got.news; got = <-lines {
	}
	if !strings.HasPrefix(got.text, `infrastructure-a`) || strings.Contains(got.text, "\x1b") || !strings.HasSuffix(got.text, ": 1.0 KiB of 4.0 KiB, 1m30s") {
		t.Errorf("news: %q", got.text)
	}
	p.Close()
	for len(lines) > 0 {
		got = <-lines
	}
	if got != (shown{}) {
		t.Errorf("last shown: %+v", got)
	}
	var none *Progress
	none.Count("lint", 1, 2, "files")
	none.Close()
}
