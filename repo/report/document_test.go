package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// TestEnums compares the words in the tags of fields with the constants that they name.
func TestEnums(t *testing.T) {
	for _, tt := range []struct {
		body        any
		field       string
		first, last fmt.Stringer
	}{
		{jsonFinding{}, "Severity", lint.Info, lint.Error},
		{jsonRule{}, "Severity", lint.Info, lint.Error},
		{contractField{}, "Need", contract.Optional, contract.Must},
		{jsonHook{}, "Level", extension.Discover, extension.All},
	} {
		f, _ := reflect.TypeOf(tt.body).FieldByName(tt.field)
		var want []string
		last := reflect.ValueOf(tt.last).Convert(reflect.TypeFor[int]()).Int()
		for i := reflect.ValueOf(tt.first).Convert(reflect.TypeFor[int]()).Int(); i <= last; i++ {
			want = append(want, word(reflect.TypeOf(tt.last), i))
		}
		if got := strings.Split(f.Tag.Get("enum"), ","); !slices.Equal(got, want) {
			t.Errorf("%T.%s has %q, its constants are %q", tt.body, tt.field, got, want)
		}
		func() {
			defer func() { _ = recover() }()
			t.Errorf("%T has a further constant, %s", tt.last, word(reflect.TypeOf(tt.last), last+1))
		}()
	}
}

// word is what a constant of a type is called; it panics if there is none.
func word(t reflect.Type, n int64) string {
	return reflect.ValueOf(n).Convert(t).Interface().(fmt.Stringer).String()
}
