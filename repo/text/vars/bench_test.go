package vars

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/drone/envsubst/v2"
)

// BenchmarkDollarEscapes runs both implementations on 3 MB with 6000 `$$`, as
// in CustomResourceDefinitions whose descriptions show shell or Kubernetes
// variables. The library copies the whole text for each of them.
func BenchmarkDollarEscapes(b *testing.B) {
	data := bytes.Repeat([]byte(strings.Repeat("description ", 41)+"$$(POD)\n"), 6000)
	b.Run("vars", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			process(b, data)
		}
	})
	b.Run("envsubst", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := oracleProcess(data, unset); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// manifest resembles a components file: much text, few variables.
func manifest() []byte {
	var b bytes.Buffer
	for i := range 10000 {
		fmt.Fprintf(&b, "        - --feature-gates=Gate%d=${EXP_GATE_%d:=false},Other=true\n", i, i%50)
		for range 20 {
			b.WriteString("          description: a line of text as controller-gen makes it, without variables\n")
		}
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	data := manifest()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProcess(b *testing.B) {
	data := manifest()
	b.Run("vars", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			process(b, data)
		}
	})
	b.Run("envsubst", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := envsubst.Eval(oracleConvert(string(data)), func(string) string { return "" }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRawOffset(b *testing.B) {
	text := process(b, manifest())
	for i := 0; b.Loop(); i++ {
		text.RawOffset(i * 7919 % len(text.Data))
	}
}

func process(b *testing.B, data []byte) *Text {
	t, err := Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	text, err := t.Execute(unset)
	if err != nil {
		b.Fatal(err)
	}
	return text
}
