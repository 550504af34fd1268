package term

import "runtime/debug"

// Most commands are short, so that frequent collections cost time and save little
// memory. The percentage is set here, because this package needs few others and so is
// initialized before most libraries. Their tables alone would start a collection, which
// takes a quarter of the time of `version`.
var _ = debug.SetGCPercent(400)
