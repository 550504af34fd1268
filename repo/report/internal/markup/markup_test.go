package markup_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
)

func write(t *testing.T, n markup.Node) string {
	t.Helper()
	var b strings.Builder
	if err := markup.Write(&b, n); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		node markup.Node
		want string
	}{
		{"nothing", markup.Node{}, ``},
		{"empty element", markup.El("p", nil), `<p></p>`},
		{"void element", markup.El("br", nil), `<br/>`},
		{"attributes", markup.El("a", markup.Attrs("b", `"'<&>`, "c", "1\n\t2")), `<a b="&#34;&#39;&lt;&amp;&gt;" c="1&#10;&#9;2"></a>`},
		{"text", markup.El("p", nil, markup.Text("a\n\t<b>&")), "<p>a\n\t&lt;b&gt;&amp;</p>"},
		{"list", markup.List(markup.Text("a"), markup.El("b", nil), markup.Text("c")), `a<b></b>c`},
		{"raw", markup.El("style", nil, markup.Raw("p{}")), `<style>p{}</style>`},
		{"what XML cannot hold", markup.Text("\x00\x1b\r\x7f\u0085\xff\ufffe\uffff"), strings.Repeat("\ufffd", 8)},
		{"other scripts", markup.Text("größe 日本 😀"), "größe 日本 😀"},
	} {
		if got := write(t, tt.node); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzWellFormed(f *testing.F) {
	for _, s := range []string{"", "]]>", "<!--", "\x00\xff", "&amp;", "\ufffe", "a\"b'c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := write(t, markup.El("a", markup.Attrs("b", s), markup.Text(s), markup.El("c", nil, markup.Text(s))))
		d := xml.NewDecoder(strings.NewReader(out))
		var names, attr, text []string
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			switch x := token.(type) {
			case xml.StartElement:
				names = append(names, x.Name.Local)
				for _, a := range x.Attr {
					attr = append(attr, a.Value)
				}
			case xml.CharData:
				text = append(text, string(x))
			}
		}
		if strings.Join(names, " ") != "a c" || len(attr) != 1 {
			t.Fatalf("elements %q, attributes %q in %q", names, attr, out)
		}
		if strings.Join(text, "") != attr[0]+attr[0] {
			t.Errorf("attribute %q and text %q differ", attr, text)
		}
	})
}
