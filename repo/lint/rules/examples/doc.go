// Package examples holds an example of every lint rule: a small repository that
// breaks the rule (bad), the same repository in order (good), and how the real
// thing proves the rule.
//
// An example is a txtar archive ID.txtar that states only what matters. What it
// leaves out is ordinary and comes from a base. Its comment is prose, followed by
// instructions, one per line:
//
//	base NAME...                      start from the repositories base/NAME.txtar
//	want PATH[:LINE] RULE "PATTERN"   a finding that is expected in bad
//	env NAME=VALUE                    a variable for clusterctl
//	good env NAME=VALUE               a variable for clusterctl with good only
//	oracle VERDICT "PATTERN"          how the real thing shows that the rule is right
//	as shown                          nothing is filled in
//	source tree                       the files are a source tree; nothing is filled in
//	last release                      out is the next release, last/VERSION the one before
//
// A file that several bases have holds the objects of all of them, each once. A
// release without metadata.yaml or components gets ordinary ones, and so does a
// repository without a release.
//
// # Files
//
// The name of a file says which repository has it. It takes the place of a file in
// the base.
//
//	-- PATH --                 bad and good
//	-- bad/PATH --             bad
//	-- good/PATH --            good
//	-- bad/PATH good/OTHER --  bad and good, under different names
//	-- bad without PATH --     good, with the file of the base
//	-- PATH.diff --            bad and good, with the difference between them
//
// A line of a bad file may end with `# want RULE "PATTERN"`, which expects a
// finding there and is not part of the file. In a name without .diff, the ending
// .quoted stands for a Go string literal, .link for the target of a symbolic link, and .absent
// for a file of the base that is not there.
//
// # Differences
//
// Each line of a .diff begins with a mark:
//
//	(blank)  bad and good have the line
//	-        only bad has it
//	+        only good has it
//	!        bad and good have it, the base does not
//	~        the base has it, neither bad nor good does
//
// If the base does not have the file, the lines are the whole file, without the
// last two marks. Otherwise they are parts of objects, each under a heading:
//
//	@@ KIND NAME              a part of this object; NAME only where it is needed
//	@@ new                    one more object, without the last two marks
//	@@ without KIND NAME      neither bad nor good has this object
//	@@ bad without KIND NAME  only good has this object
//
// The part must fit one place in the object: the base has there what good has, or
// what bad has, or else only the lines before and after the change. The error says
// when it fits none or several; then add lines around it.
//
// So this example begins with an ordinary runtime extension, which is good, and
// gives the bad one another name:
//
//	base runtime-extension extension-config
//	-- runtime-extension-foo/v1.0.0/runtime-extension-components.yaml.diff --
//	@@ ExtensionConfig
//	 metadata:
//	-  name: foo.example # want RXS010 `"foo.example"`
//	+  name: foo
//
// pages and corpus write the catalogue as pages of documentation: what is in the
// tables, with every example and the findings it really gives.
//
// It must not know any single rule.
package examples
