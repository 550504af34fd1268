package layouts

import (
	"strings"
	"testing"
)

func TestParsePlace(t *testing.T) {
	servers := Servers{GitHub: "https://code.example.com", GitLab: "http://127.0.0.1:8080/git"}
	for raw, want := range map[string]Place{
		"out":                                   {Kind: Local, Folder: "out"},
		"/srv/x":                                {Kind: Local, Folder: "/srv/x"},
		`C:\x`:                                  {Kind: Local, Folder: `C:\x`},
		"file:///srv/a%20b":                     {Kind: Local, Folder: "/srv/a b"},
		"https://github.com/o/r":                {Kind: GitHub, Server: "https://github.com", Name: "o/r"},
		"https://github.com/o/r/":               {Kind: GitHub, Server: "https://github.com", Name: "o/r"},
		"https://github.com/o/r.git":            {Kind: GitHub, Server: "https://github.com", Name: "o/r"},
		"https://github.com/o/{provider}":       {Kind: GitHub, Server: "https://github.com", Name: "o/{provider}"},
		"https://github.example.com/o/r":        {Kind: GitHub, Server: "https://github.example.com", Name: "o/r"},
		"https://code.example.com/o/r":          {Kind: GitHub, Server: "https://code.example.com", Name: "o/r"},
		"https://gitlab.com/g/p":                {Kind: GitLab, Server: "https://gitlab.com", Name: "g/p"},
		"https://gitlab.example.com:8443/a/b":   {Kind: GitLab, Server: "https://gitlab.example.com:8443", Name: "a/b"},
		"https://gitlab.example.com/g/s/p":      {Kind: GitLab, Server: "https://gitlab.example.com", Name: "g/s/p"},
		"http://127.0.0.1:8080/git/g/p":         {Kind: GitLab, Server: "http://127.0.0.1:8080/git", Name: "g/p"},
		"https://gitlab.com/api/v4/projects/42": {Kind: GitLab, Server: "https://gitlab.com", Name: "42"},
		"https://gitlab.com/api/v4/projects/g%2Fp/packages/generic/x/":             {Kind: GitLab, Server: "https://gitlab.com", Name: "g/p", Package: "x"},
		"https://gitlab.com/api/v4/projects/42/packages/generic/x/v1.0.0/c.yaml":   {Kind: GitLab, Server: "https://gitlab.com", Name: "42", Package: "x", Version: "v1.0.0", File: "c.yaml"},
		"http://127.0.0.1:8080/git/api/v4/projects/42/packages/generic/{provider}": {Kind: GitLab, Server: "http://127.0.0.1:8080/git", Name: "42", Package: "{provider}"},
		"oci://registry.example.com/a/b":                                           {Kind: OCI, Server: "registry.example.com", Name: "a/b"},
		"oci://127.0.0.1:5000/a":                                                   {Kind: OCI, Server: "127.0.0.1:5000", Name: "a"},
		"oci://h/a/{provider}":                                                     {Kind: OCI, Server: "h", Name: "a/{provider}"},
	} {
		got, err := ParsePlace(raw, servers)
		if err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", raw, got, err, want)
		}
	}
	for raw, want := range map[string]string{
		"file:x":                          "absolute",
		"file://x":                        "absolute",
		"ftp://x/y":                       "cannot publish to ftp",
		"https://example.com/o/r":         "the host example.com is unknown",
		"http://github.com/o/r":           "write https",
		"https://github.com/o":            "OWNER/REPO",
		"https://github.com/o/r/releases": "OWNER/REPO",
		"https://github.com/o/..":         "not a project name",
		"https://github.com/o/r?x=1":      "ends with the name",
		"https://gitlab.com/g":            "GROUP/PROJECT",
		"https://gitlab.com/api/v4/x":     "GROUP/PROJECT",
		"https://gitlab.com/api/v4/projects/g/p/packages/generic/x":       "ID/packages/generic/PACKAGE",
		"https://gitlab.com/api/v4/projects/42/packages/npm/x":            "ID/packages/generic/PACKAGE",
		"https://gitlab.com/api/v4/projects/42/packages/generic":          "ID/packages/generic/PACKAGE",
		"https://gitlab.com/api/v4/projects/42/packages/generic/x/v1/a/b": "ID/packages/generic/PACKAGE",
		"https://gitlab.com/g/p/-/tree":                                   "not a project name",
		"oci://h/a:v1":                                                    "must not have a tag",
		"oci://h":                                                         "not a repository name",
		"oci://h/A":                                                       "not a repository name",
		"oci:///a":                                                        "not a registry host",
		"https://u:secret@github.com/o/r":                                 "tokens come from the environment",
		"https://\x7f":                                                    "destination",
	} {
		_, err := ParsePlace(raw, servers)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in %v", raw, err)
		}
	}
	if p := (Place{Kind: OCI, Name: "a/{provider}"}); p.Shared() || p.For("addon-x").Name != "a/addon-x" {
		t.Errorf("%v %s", p.Shared(), p.For("addon-x"))
	}
	if !(Place{Kind: GitHub, Name: "o/r"}).Shared() || (Place{Kind: GitLab, Name: "o/r"}).Shared() || !(Place{Kind: GitLab, Name: "o/r", Package: "x"}).Shared() {
		t.Error("GitHub repositories are shared, GitLab packages only if they are named")
	}
}
