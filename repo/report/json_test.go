package report

import (
	"reflect"
	"testing"
)

func TestWithLists(t *testing.T) {
	type inner struct{ List []string }
	type body struct {
		inner
		Lists []inner
		At    *inner
		Not   []string `json:"-"`
		None  *inner
	}
	got := WithLists(body{Lists: []inner{{}}, At: &inner{}})
	want := body{inner: inner{[]string{}}, Lists: []inner{{[]string{}}}, At: &inner{[]string{}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, want %#v", got, want)
	}
}
