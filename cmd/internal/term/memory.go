package term

import "runtime/debug"

// Most work is short, so collecting garbage rarely saves time for little memory. Set
// here, because this package needs no library and is initialized before them: their
// tables alone would start a collection, which takes a quarter of the time of `version`.
var _ = debug.SetGCPercent(400)
