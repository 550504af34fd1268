// Package examples holds an example of every lint rule: a small repository that
// breaks the rule (bad), the same repository in order (good), and how the real
// thing proves the rule.
//
// An example is a txtar archive ID.txtar that states only what matters. What it
// leaves out is ordinary, and comes from a base. Its comment is prose, followed by
// instructions, one per line:
//
//	base NAME                         start from the repository in base/NAME.txtar
//	want PATH[:LINE] RULE "PATTERN"   a finding that is expected in bad
//	env NAME=VALUE                    a variable for clusterctl
//	good env NAME=VALUE               a variable for clusterctl with good only
//	oracle VERDICT "PATTERN"          how the real thing shows that the rule is right
//	as shown                          nothing is filled in
//	source tree                       the files are a source tree; nothing is filled in
//
// A release without metadata.yaml or components gets ordinary ones, and so does a
// repository without a release.
//
// # Files
//
// The name of a file says which repository has it:
//
//	-- PATH --        bad and good
//	-- bad/PATH --    bad
//	-- good/PATH --   good
//	-- PATH.diff --   bad and good, with the difference between them
//
// A line of a bad file may end with `# want RULE "PATTERN"`, which expects a
// finding there and is not part of the file. In a name without .diff, the ending
// .quoted stands for a Go string literal, .link for the target of a symbolic link,
// and .padded for a size in bytes and a text, which is repeated at the end on
// indented lines until the file has that size.
//
// # Differences
//
// Each line of a .diff begins with a mark:
//
//	␠   the line is in bad and good
//	-   the line is in bad
//	+   the line is in good
//
// If the base does not have the file, the lines are the whole file. Otherwise they
// are parts of the base's objects, each under a heading:
//
//	@@ KIND NAME                part of this object; NAME only where it is needed
//	@@ new                      one more object
//	@@ instead of KIND NAME     another object in the place of this one
//	@@ without KIND NAME        bad and good lack this object
//	@@ bad without KIND NAME    only good has this object
//
// One side of a part is what the base has, and it must occur there exactly once:
// the common lines with those marked +, or with those marked -. The other side
// takes its place. Lines marked ! are the example's own, in bad and good but not
// in the base; a part with them may leave neither side ordinary.
//
// So this example begins with an ordinary runtime extension, which is good, and
// gives the bad one another name:
//
//	base runtime-extension
//	-- runtime-extension-foo/v1.0.0/runtime-extension-components.yaml.diff --
//	@@ ExtensionConfig
//	 metadata:
//	-  name: foo.example # want RXS010 `"foo.example"`
//	+  name: foo
//
// This package must not know any rule, so that tests of rules can use it.
package examples
