package lint

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// IgnoreMark begins a comment that suppresses rules:
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
	// used holds the rules that it suppressed.
	used map[string]bool
}

// Used reports whether the comment suppressed a finding of a rule, by its
// normalized ID.
func (i *Ignore) Used(rule string) bool { return i.used[rule] }

// names reports whether the comment is about a rule.
func (i *Ignore) names(rule *Rule) bool {
	return slices.ContainsFunc(i.Rules, func(id string) bool { return NormalizeID(id) == rule.ID })
}

// NormalizeID brings an ID as people write it, such as meta-006, into its form.
func NormalizeID(id string) string { return strings.ToUpper(strings.ReplaceAll(id, "-", "")) }

// readIgnores finds the comments in a file.
func readIgnores(f *yamldoc.File) []*Ignore {
	var out []*Ignore
	if !strings.Contains(f.Data, IgnoreMark) {
		return nil
	}
	lines := strings.Split(f.Data, "\n")
	text := newOutline(lines)
	for n, line := range lines {
		at, rest := comment(line)
		if at < 0 {
			continue
		}
		whole := strings.TrimRight(line, "\r")
		i := &Ignore{
			File: f.Name, Pos: yamldoc.Pos{Line: n + 1, Column: len([]rune(line[:at])) + 1}, End: yamldoc.Pos{Line: n + 1, Column: len([]rune(whole)) + 1},
			Source: whole, used: map[string]bool{},
		}
		i.Rules, i.Reason = rulesAndReason(rest)
		i.First, i.Last = text.covers(n, strings.TrimSpace(line[:at]) == "")
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
	if at < 0 || strings.TrimSpace(line[at+1:mark]) != "" ||
		at > 0 && line[at-1] != ' ' && line[at-1] != '\t' || quoted(line[:at]) {
		return -1, ""
	}
	return at, line[mark+len(IgnoreMark):]
}

// quoted reports whether a text in quotes is open at the end of a part of a line.
// Quotes inside plain texts are characters of them.
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

// rulesAndReason splits what follows the mark. Rules are a list with commas, also
// with spaces around them.
func rulesAndReason(text string) (rules []string, reason string) {
	rest := strings.TrimSpace(text)
	for {
		end := strings.IndexAny(rest, ", \t")
		if end < 0 {
			end = len(rest)
		}
		if id := rest[:end]; id != "" {
			rules = append(rules, id)
		}
		rest = strings.TrimLeft(rest[end:], " \t")
		if !strings.HasPrefix(rest, ",") {
			return rules, strings.TrimSpace(rest)
		}
		rest = strings.TrimLeft(rest, ", \t")
	}
}

// outline is a file by lines, of which each is looked at a few times only,
// however many comments there are.
type outline struct {
	lines []string
	// next is the first line with content from each line on.
	next []int
	// opens says that no content of its document stands above a line.
	opens []bool
	// blocks and documents are the last lines of those that begin in a line.
	blocks, documents map[int]int
}

func newOutline(lines []string) *outline {
	o := &outline{lines, make([]int, len(lines)+1), make([]bool, len(lines)), map[int]int{}, map[int]int{}}
	o.next[len(lines)] = len(lines)
	for i := len(lines) - 1; i >= 0; i-- {
		if o.next[i] = i; isNothing(lines[i]) {
			o.next[i] = o.next[i+1]
		}
	}
	opens := true
	for i, line := range lines {
		o.opens[i] = opens
		opens = isSeparator(line) || opens && isNothing(line)
	}
	return o
}

// covers returns the lines, counted from 1, that a comment in line n, counted
// from 0, is about.
func (o *outline) covers(n int, alone bool) (first, last int) {
	head := n
	if alone {
		if head = o.next[n+1]; head == len(o.lines) {
			return n + 1, n + 1
		}
		if o.opens[n] {
			return head + 1, known(o.documents, head, func() int {
				last := head
				for last+1 < len(o.lines) && !isSeparator(o.lines[last+1]) {
					last++
				}
				return last
			}) + 1
		}
	}
	return head + 1, known(o.blocks, head, func() int { return o.block(head) }) + 1
}

func known(of map[int]int, head int, find func() int) int {
	last, ok := of[head]
	if !ok {
		last = find()
		of[head] = last
	}
	return last
}

// block returns the last line of the value that begins in a line.
func (o *outline) block(head int) (last int) {
	depth := indentation(o.lines[head])
	inList := strings.HasPrefix(o.lines[head][depth:], "-")
	last = head
	for i := o.next[head+1]; i < len(o.lines) && !isSeparator(o.lines[i]); i = o.next[i+1] {
		d := indentation(o.lines[i])
		if d < depth || d == depth && (inList || !strings.HasPrefix(o.lines[i][d:], "- ")) {
			break
		}
		last = i
	}
	return last
}

func isNothing(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

func isSeparator(line string) bool { return strings.HasPrefix(line, "---") }

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// Suppressed is a finding that a comment suppresses, or the file By.
type Suppressed struct {
	Finding
	By, Reason string
}

// suppress takes the findings away that comments are about. Errors in the files of
// others stay, and the comments count as needed.
func (r *Report) suppress(ignores []*Ignore, foreign bool) {
	type place struct{ file, rule string }
	about := map[place]*suppression{}
	for _, i := range ignores {
		if i.Reason == "" { // a reason is required
			continue
		}
		for _, id := range i.Rules {
			at := place{i.File, NormalizeID(id)}
			if about[at] == nil {
				about[at] = &suppression{map[int]*Ignore{}, map[int]int{}}
			}
			about[at].add(i)
		}
	}
	if len(about) == 0 {
		return
	}
	kept := r.Findings[:0]
	for _, f := range r.Findings {
		i := about[place{f.File, f.Rule.ID}].at(f.Pos.Line)
		if i != nil {
			i.used[f.Rule.ID] = true
			if !foreign || f.Severity < Error {
				r.Suppressed = append(r.Suppressed, Suppressed{Finding: f, Reason: i.Reason})
				continue
			}
		}
		kept = append(kept, f)
	}
	r.Findings = kept
}

// suppression holds which comment suppresses a rule in each line of a file: the first
// one.
type suppression struct {
	by map[int]*Ignore
	// after leads from a suppressed line to one that may not be.
	after map[int]int
}

// at returns the comment that suppresses a line, or nil.
func (s *suppression) at(line int) *Ignore {
	if s == nil {
		return nil
	}
	return s.by[line]
}

func (s *suppression) add(i *Ignore) {
	for line := s.free(i.First); line <= i.Last; line = s.free(line) {
		s.by[line], s.after[line] = i, line+1
	}
}

// free returns the first line from one on that is not suppressed.
func (s *suppression) free(line int) int {
	end := line
	for s.after[end] != 0 {
		end = s.after[end]
	}
	for s.after[line] != 0 {
		line, s.after[line] = s.after[line], end
	}
	return end
}
