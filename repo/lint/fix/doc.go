// Package fix applies the edits of findings to the text of files so that
// nothing but what they are for can change: an edit is made only if the file is
// the one that was linted, the result is parsed again and compared value by
// value, and a file is replaced whole or not at all.
//
// It must not know rules, nor how a result is linted again; transform/check does.
package fix
