package config

import "reflect"

// Over returns p laid over base: what p says counts, the rest comes from base.
// Lists are taken whole; an empty list overrides, too.
func (p Provider) Over(base Provider) Provider {
	return laid(reflect.ValueOf(p), reflect.ValueOf(base)).Interface().(Provider)
}

func laid(over, base reflect.Value) reflect.Value {
	out := reflect.New(over.Type()).Elem()
	out.Set(base)
	for _, f := range fieldsOf(over.Type()) {
		x := over.Field(f.index)
		switch {
		case empty(x):
		case x.Kind() == reflect.Struct:
			out.Field(f.index).Set(laid(x, base.Field(f.index)))
		default:
			out.Field(f.index).Set(x)
		}
	}
	origin := over.FieldByName("Origin").Interface().(Origin)
	if !origin.IsZero() {
		out.FieldByName("Origin").Set(reflect.ValueOf(origin))
	}
	return out
}
