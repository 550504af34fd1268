package move

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Answers are the words for what becomes of an object.
func Answers() []string { return []string{"moves", "stays", NotKnown} }

func (n *Node) Answer() string {
	switch {
	case n.Verdict.moves():
		return "moves"
	case n.Verdict == Unclear:
		return NotKnown
	}
	return "stays"
}

// Orphaned reports whether an object stays whose owners are then all gone in the
// source, because they move.
func (n *Node) Orphaned() bool {
	owned := false
	for _, e := range n.In {
		if e.Link != Owner {
			continue
		}
		owned = owned || e.From.Verdict == Moves
		gone := e.From.Absent && !e.From.Missing && (e.From.Namesake || e.From.Scope != Ignored)
		if e.From.Verdict != Moves && !gone {
			return false
		}
	}
	return owned && n.Verdict == Left
}

// Shown returns the objects of the plan, without those that are only named or have
// nothing to do with the move.
func (p *Plan) Shown() []*Node {
	return phrase.Only(p.Nodes, func(n *Node) bool {
		return !n.Absent && (!p.template || n.Object != nil) && (n.Scope != Elsewhere || n.Lost)
	})
}

// Counts says how many objects of a plan have which answer, and how many are lost.
func (p *Plan) Counts() (answers map[string]int, lost int) {
	answers = map[string]int{}
	for _, n := range p.Shown() {
		answers[n.Answer()]++
		if n.Lost {
			lost++
		}
	}
	return answers, lost
}

// Conclude says what becomes of all that belongs to Clusters: one of Answers, and a
// sentence. Complete tells that everything could be read.
func Conclude(plans []*Plan, complete bool) (answer, sentence string) {
	var lost, obstacles, lacks, unknown, gaps, open int
	if !complete {
		gaps++
	}
	for _, p := range plans {
		answers, left := p.Counts()
		lost, unknown = lost+left, unknown+answers[NotKnown]
		for _, r := range p.Remarks {
			if r.Object != nil {
				obstacles++
			} else {
				gaps++
			}
		}
		for _, n := range p.Needs {
			switch n.Status {
			case "":
				open++
			case missing:
				lacks++
			case NotKnown:
				unknown++
			}
		}
	}
	var parts []string
	say := func(number int, noun, rest string) {
		if number > 0 {
			parts = append(parts, phrase.Count(number, noun)+rest)
		}
	}
	say(lost, "object", " of Clusters, or of what moves, would stay behind")
	say(obstacles, "obstacle", " to the move")
	say(lacks, "need", " that the target does not meet")
	answer = Answers()[1]
	if len(parts) == 0 {
		answer = NotKnown
	}
	say(unknown, "question", " that the input does not answer")
	if gaps > 0 {
		parts = append(parts, "the input is not complete")
	}
	switch {
	case len(parts) > 0:
		sentence = strings.Join(parts, "; ")
		return answer, strings.ToUpper(sentence[:1]) + sentence[1:] + "."
	case len(plans) == 0:
		return Answers()[0], "There is nothing to move."
	case open > 0:
		return Answers()[0], "Nothing would be lost, if the target has what it must have."
	}
	return Answers()[0], "Nothing would be lost."
}
