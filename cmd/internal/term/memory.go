package term

import "runtime/debug"

// Most work is short, so collecting garbage rarely saves time for little memory. It is
// set here, because this package needs few others and so is initialized before most
// libraries: their tables alone would start a collection, which takes a quarter of the
// time of `version`.
var _ = debug.SetGCPercent(400)
