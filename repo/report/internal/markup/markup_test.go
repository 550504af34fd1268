package markup_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
)

func TestWrite(t *testing.T) {
	for got, want := range map[string]string{
		markup.Attrs(): "",
		markup.Attrs("b", `"'<&>`, "c", "1\n\t2"):           ` b="&#34;&#39;&lt;&amp;&gt;" c="1&#10;&#9;2"`,
		markup.Text("a\n\t<b>&"):                            "a\n\t&lt;b&gt;&amp;",
		markup.Text("\x00\x1b\r\x7f\u0085\xff\ufffe\uffff"): strings.Repeat("\ufffd", 8), // what XML cannot hold
		markup.Text("größe 日本 😀"):                           "größe 日本 😀",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzWellFormed(f *testing.F) {
	for _, s := range []string{"", "]]>", "<!--", "\x00\xff", "&amp;", "\ufffe", "a\"b'c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a struct {
			B    string `xml:"b,attr"`
			Text string `xml:",chardata"`
			C    string `xml:"c"`
		}
		out := "<a" + markup.Attrs("b", s) + ">" + markup.Text(s) + "<c>" + markup.Text(s) + "</c></a>"
		if err := xml.Unmarshal([]byte(out), &a); err != nil || a.B != a.Text || a.C != a.Text {
			t.Errorf("%v: attribute %q and texts %q and %q in %q", err, a.B, a.Text, a.C, out)
		}
	})
}
