package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceSection(t *testing.T) {
	section := func(text string) string { return sectionBegin + text + sectionEnd }
	for name, tt := range map[string]struct{ page, want string }{
		"no page":    {"", "\n\n" + section("new\n")},
		"at the end": {"# Page\n", "# Page\n\n" + section("new\n")},
		"replaced":   {"# Page\n\n" + section("old\n") + "\nmore\n", "# Page\n\n" + section("new\n") + "\nmore\n"},
		"unchanged":  {"# Page\n\n" + section("new\n"), "# Page\n\n" + section("new\n")},
	} {
		t.Run(name, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "page.md")
			if tt.page != "" {
				if err := os.WriteFile(page, []byte(tt.page), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := replaceSection(page, section("new\n")); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(page); err != nil || string(got) != tt.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
