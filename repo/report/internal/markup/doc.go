// Package markup has what formats are made of: it builds documents and prints them as
// text or Markdown, writes structs as JSON and describes them as JSON schemas, and
// writes texts so that terminals and parsers show what they are. It must not know what
// any of it means.
package markup
