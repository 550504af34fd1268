package repo

// Stated returns the checksum that the place of the file states, if it does.
// Nothing is read.
func (a *Artifact) Stated() (sum Sum, ok bool) {
	if a.stated == nil {
		return Sum{}, false
	}
	return *a.stated, true
}
