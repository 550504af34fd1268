package layouts

// Distance counts the insertions, deletions and substitutions of bytes that
// lead from a to b, to find what the user meant to write. Long words are no
// slips and count as far away, which bounds the cost.
func Distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
