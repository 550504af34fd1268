package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rewrite puts all mutants of a file into its text, each behind a switch that
// the environment sets when the test binary starts. So one build serves all.
func rewrite(src string, mutants []*mutant) string {
	groups := map[[3]int][]*mutant{}
	var order [][3]int
	for _, m := range mutants {
		k := [3]int{m.start, -m.end, 0}
		if m.boolean {
			k[2] = 1 // inside a statement of the same extent
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], m)
	}
	slices.SortFunc(order, func(a, b [3]int) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
	})
	r := &rewriter{src: src, groups: groups, order: order}
	return r.region(0, len(src))
}

type rewriter struct {
	src    string
	groups map[[3]int][]*mutant
	order  [][3]int
}

// region writes the text from start to end with the groups that lie in it.
func (r *rewriter) region(start, end int) string {
	var b strings.Builder
	for len(r.order) > 0 && r.order[0][0] < end {
		k := r.order[0]
		r.order = r.order[1:]
		b.WriteString(r.src[start:k[0]])
		inner := r.region(k[0], -k[1])
		b.WriteString(r.group(r.groups[k], inner))
		start = -k[1]
	}
	b.WriteString(r.src[start:end])
	return b.String()
}

// group wraps a text with its mutants. Comments mark where each stands, for
// errors of the compiler.
func (r *rewriter) group(mutants []*mutant, inner string) string {
	var b strings.Builder
	open, shut := "", ""
	for _, m := range mutants {
		open, shut = open+fmt.Sprintf("/*<%d*/", m.id), shut+fmt.Sprintf("/*%d>*/", m.id)
	}
	b.WriteString(open)
	if mutants[0].boolean {
		b.WriteString("func() bool { ")
		for _, m := range mutants {
			fmt.Fprintf(&b, "if mutated(%d) { return %s }; ", m.id, m.marked())
		}
		b.WriteString("return " + inner + " }()" + shut)
		return b.String()
	}
	var suffix strings.Builder
	shutBraces := ""
	for _, m := range mutants {
		if m.suffix {
			fmt.Fprintf(&suffix, "; if mutated(%d) { %s }", m.id, m.marked())
			continue
		}
		if strings.HasPrefix(inner, "return") || strings.Contains(m.text, "return") && strings.HasPrefix(m.text, "return") {
			fmt.Fprintf(&b, "if mutated(%d) { %s }; ", m.id, m.marked())
			continue
		}
		fmt.Fprintf(&b, "if mutated(%d) { %s } else { ", m.id, m.marked())
		shutBraces += " }"
	}
	b.WriteString(inner + suffix.String() + shutBraces + shut)
	return b.String()
}

func (m *mutant) marked() string {
	return fmt.Sprintf("/*[%d*/%s/*%[1]d]*/", m.id, m.text)
}

// support is the file that joins a package to the switch.
const support = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var (
	mutantOn, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantHits  = os.Getenv("MUTANT_HITS")
	mutantSeen  sync.Map
)

func mutated(id int) bool {
	if mutantHits != "" {
		if _, seen := mutantSeen.LoadOrStore(id, true); !seen {
			f, err := os.OpenFile(mutantHits, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			if _, err := f.WriteString(strconv.Itoa(id) + "\n"); err != nil {
				panic(err)
			}
			f.Close()
		}
	}
	return id == mutantOn
}
`

var (
	compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):(?:(\d+):)?`)
	marks        = regexp.MustCompile(`/\*([\[<]?)(\d+)([\]>]?)\*/`)
)

// blame returns the mutants that an error of the compiler at line:column of a
// rewritten file is about: those whose own text holds the place, or else the
// innermost that wrap it. Column 0 means the whole line.
func blame(text string, line, column int) []int {
	at := 0
	for range line - 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return nil
		}
		at += i + 1
	}
	end := len(text)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		end = at + i
	}
	if column > 0 {
		at += column - 1
		end = at + 1
	}
	type span struct{ id, start int }
	var stack []span
	var own, groups []int
	best := -1
	for _, m := range marks.FindAllStringSubmatchIndex(text, -1) {
		id, _ := strconv.Atoi(text[m[4]:m[5]])
		kind := text[m[2]:m[3]] + text[m[6]:m[7]]
		switch kind {
		case "[", "<":
			stack = append(stack, span{id, m[0]})
		case "]", ">":
			for i := len(stack) - 1; i >= 0; i-- {
				if stack[i].id != id {
					continue
				}
				s := stack[i]
				stack = slices.Delete(stack, i, i+1)
				if s.start < end && at < m[1] {
					if kind == "]" {
						own = append(own, id)
					} else if best < 0 || m[1]-s.start <= best {
						if best >= 0 && m[1]-s.start < best-30 {
							groups = nil
						}
						best = m[1] - s.start
						groups = append(groups, id)
					}
				}
				break
			}
		}
	}
	if len(own) > 0 {
		return own
	}
	return groups
}
