package lint

import (
	"bytes"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// IgnoreMark begins a comment that silences rules:
//
//	# clusterctl-repo:ignore RULE[,RULE...] the reason
const IgnoreMark = "clusterctl-repo:ignore"

// Ignore is such a comment. Behind a value it is about that value; on a line of
// its own it is about the next one, with all that is inside it, or about the
// whole document if nothing stands above it there.
type Ignore struct {
	File string
	Pos  yamldoc.Pos
	End  yamldoc.Pos
	// Source is the line, for findings about the comment.
	Source string
	// Rules are IDs as they were written.
	Rules []string
	// Reason is what follows them.
	Reason string
	// First and Last are the lines it is about.
	First, Last int
	// used holds the rules that it silenced.
	used map[string]bool
}

// Used reports whether the comment silenced a finding of a rule, by its
// normalized ID.
func (i *Ignore) Used(rule string) bool { return i.used[rule] }

// NormalizeID brings an ID as people write it, such as meta-006, into its form.
func NormalizeID(id string) string { return strings.ToUpper(strings.ReplaceAll(id, "-", "")) }

// Ignores finds the comments in a file.
func Ignores(f *yamldoc.File) []*Ignore {
	var out []*Ignore
	if !bytes.Contains(f.Data, []byte(IgnoreMark)) {
		return nil
	}
	lines := strings.Split(string(f.Data), "\n")
	for n, line := range lines {
		at, rest := comment(line)
		if at < 0 {
			continue
		}
		text := strings.TrimRight(line, "\r")
		i := &Ignore{
			File: f.Name, Pos: yamldoc.Pos{Line: n + 1, Column: len([]rune(line[:at])) + 1}, End: yamldoc.Pos{Line: n + 1, Column: len([]rune(text)) + 1},
			Source: text, used: map[string]bool{},
		}
		words, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
		for _, id := range strings.Split(words, ",") {
			if id != "" {
				i.Rules = append(i.Rules, id)
			}
		}
		i.Reason = strings.TrimSpace(reason)
		i.First, i.Last = covers(lines, n, strings.TrimSpace(line[:at]) == "")
		out = append(out, i)
	}
	return out
}

// comment returns where the comment with the mark begins in a line, and what
// follows the mark.
func comment(line string) (at int, rest string) {
	mark := strings.Index(line, IgnoreMark)
	if mark < 0 {
		return -1, ""
	}
	at = strings.LastIndexByte(line[:mark], '#')
	if at < 0 || strings.TrimSpace(line[at+1:mark]) != "" || at > 0 && line[at-1] != ' ' && line[at-1] != '\t' || quoted(line[:at]) {
		return -1, ""
	}
	return at, line[mark+len(IgnoreMark):]
}

// quoted reports whether a text in quotes is open at the end of a part of a line.
// Quotes inside of plain texts are characters of them.
func quoted(part string) bool {
	var open byte
	for i := 0; i < len(part); i++ {
		switch c := part[i]; {
		case open == '"' && c == '\\':
			i++
		case open == '\'' && c == open && i+1 < len(part) && part[i+1] == open:
			i++ // stands for one
		case open != 0 && c == open:
			open = 0
		case open == 0 && (c == '"' || c == '\'') && strings.ContainsRune(" \t-[{,:(", lastRune(part[:i])):
			open = c
		case open == 0 && c == '#' && (i == 0 || part[i-1] == ' ' || part[i-1] == '\t'):
			return false // the rest is a comment
		}
	}
	return open != 0
}

// lastRune is the last character of a text; a blank for none.
func lastRune(text string) rune {
	if text == "" {
		return ' '
	}
	return rune(text[len(text)-1])
}

// covers returns the lines, counted from 1, that a comment in line n, counted
// from 0, is about.
func covers(lines []string, n int, alone bool) (first, last int) {
	head := n
	if alone {
		for head++; head < len(lines) && isNothing(lines[head]); head++ {
		}
		if head == len(lines) {
			return n + 1, n + 1
		}
		if startsDocument(lines, n) {
			for last = head; last+1 < len(lines) && !isSeparator(lines[last+1]); last++ {
			}
			return head + 1, last + 1
		}
	}
	depth := indentation(lines[head])
	inList := strings.HasPrefix(lines[head][depth:], "-")
	last = head
	for i := head + 1; i < len(lines) && !isSeparator(lines[i]); i++ {
		d := indentation(lines[i])
		if isNothing(lines[i]) {
			continue
		}
		if d < depth || d == depth && (inList || !strings.HasPrefix(lines[i][d:], "- ")) {
			break
		}
		last = i
	}
	return head + 1, last + 1
}

func isNothing(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

func isSeparator(line string) bool { return strings.HasPrefix(line, "---") }

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// startsDocument reports whether nothing of a document stands above line n.
func startsDocument(lines []string, n int) bool {
	for n--; n >= 0 && !isSeparator(lines[n]); n-- {
		if !isNothing(lines[n]) {
			return false
		}
	}
	return true
}

// Suppressed is a finding that a comment silences.
type Suppressed struct {
	Finding
	Reason string
}

// suppress takes the findings away that comments are about.
func (r *Report) suppress(ignores []*Ignore) {
	byFile := map[string][]*Ignore{}
	for _, i := range ignores {
		if i.Reason != "" { // a reason is required
			byFile[i.File] = append(byFile[i.File], i)
		}
	}
	if len(byFile) == 0 {
		return
	}
	kept := r.Findings[:0]
next:
	for _, f := range r.Findings {
		for _, i := range byFile[f.File] {
			if f.Pos.Line < i.First || f.Pos.Line > i.Last {
				continue
			}
			for _, id := range i.Rules {
				if NormalizeID(id) == f.Rule.ID {
					i.used[f.Rule.ID] = true
					r.Suppressed = append(r.Suppressed, Suppressed{f, i.Reason})
					continue next
				}
			}
		}
		kept = append(kept, f)
	}
	r.Findings = kept
}
