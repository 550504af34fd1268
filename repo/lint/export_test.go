package lint

// Ignores is for the tests of the comments.
var Ignores = readIgnores
