package cli

import (
	"bytes"
	"fmt"
	"testing"
)

// TestLine writes a line of progress between results, which share a terminal.
func TestLine(t *testing.T) {
	var screen bytes.Buffer
	s := &stopping{}
	out, errs := &gate{w: &screen, s: s}, &gate{w: &screen, s: s}
	errs.Line("lint, 1s", false)
	errs.Line("lint: 1 of 2 files", true)
	fmt.Fprintln(out, "finding")
	errs.Line("lint: 1 of 2 files, 2s", false) // nothing new to say
	errs.Line("lint: 2 of 2 files", true)
	errs.Line("lint: 2 of 2 files, 3s", false)
	errs.Line("", false)
	errs.Line("", false)
	s.shut = true
	errs.Line("lint: 2 of 2 files, 4s", true)
	const want = "\r\x1b[Klint, 1s\r\x1b[Klint: 1 of 2 files\r\x1b[Kfinding\n" +
		"\r\x1b[Klint: 2 of 2 files\r\x1b[Klint: 2 of 2 files, 3s\r\x1b[K"
	if screen.String() != want {
		t.Errorf("got  %q\nwant %q", screen.String(), want)
	}
}

// TestWroteAfterTheEnd: no output file is written after the command has ended.
func TestWroteAfterTheEnd(t *testing.T) {
	s := &stopping{shut: true}
	if err := s.wrote("report.json", func() error { t.Error("written"); return nil }); err != errStopped {
		t.Error(err)
	}
}
