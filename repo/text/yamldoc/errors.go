package yamldoc

import "errors"

// Causes of Document.Err, for errors.Is.
var (
	ErrControl = errors.New("control characters are not allowed")
	// ErrNumber is a number that JSON does not have, such as .inf.
	ErrNumber = errors.New("is not a number that JSON can hold")
	ErrKey    = errors.New("cannot be a mapping key")
	ErrEscape = errors.New(`JSON knows the escape \/, clusterctl's YAML does not: write / instead`)
	// ErrAnchor is an alias of an anchor that the document does not define.
	ErrAnchor = errors.New("unknown anchor")
)

// caused gives the error of a parser a cause, and keeps its text.
type caused struct{ err, cause error }

func (c *caused) Error() string   { return c.err.Error() }
func (c *caused) Unwrap() []error { return []error{c.err, c.cause} }
