package cel

import (
	"net/netip"
	"net/url"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
	kube "k8s.io/apiserver/pkg/cel"
)

// bindings are the functions of Kubernetes that are evaluated, by the name of their
// overload. Rules that call others are skipped.
var bindings = map[string]cel.OverloadOpt{
	"is_url_string":      says(func(s string) bool { _, err := url.ParseRequestURI(s); return err == nil }),
	"is_ip":              says(func(s string) bool { _, ok := parseIP(s); return ok }),
	"is_cidr":            says(func(s string) bool { p, err := netip.ParsePrefix(s); return err == nil && !p.Addr().Is4In6() }),
	"is_quantity_string": says(func(s string) bool { _, err := resource.ParseQuantity(s); return err == nil }),

	"string_to_url": cel.UnaryBinding(func(v ref.Val) ref.Val {
		s := text(v)
		if _, err := url.ParseRequestURI(s); err != nil {
			return types.NewErr("URL parse error: %v", err)
		}
		u, err := url.Parse(s) // the other one keeps the fragment in the path
		if err != nil {
			return types.NewErr("URL parse error: %v", err)
		}
		return kube.URL{URL: u}
	}),
	"url_get_scheme":       ofURL(func(u *url.URL) string { return u.Scheme }),
	"url_get_host":         ofURL(func(u *url.URL) string { return u.Host }),
	"url_get_hostname":     ofURL((*url.URL).Hostname),
	"url_get_port":         ofURL((*url.URL).Port),
	"url_get_escaped_path": ofURL((*url.URL).EscapedPath),

	"string_to_ip": cel.UnaryBinding(func(v ref.Val) ref.Val {
		if a, ok := parseIP(text(v)); ok {
			return kube.IP{Addr: a}
		}
		return types.NewErr("%q is not an IP address", text(v))
	}),
	"ip_family": cel.UnaryBinding(func(v ref.Val) ref.Val {
		ip, ok := v.(kube.IP)
		switch {
		case !ok:
			return types.MaybeNoSuchOverloadErr(v)
		case ip.Is4():
			return types.Int(4)
		}
		return types.Int(6)
	}),

	"string_to_quantity": cel.UnaryBinding(func(v ref.Val) ref.Val {
		q, err := resource.ParseQuantity(text(v))
		if err != nil {
			return types.WrapErr(err)
		}
		return kube.Quantity{Quantity: &q}
	}),
	"quantity_is_greater_than": compares(func(c int) ref.Val { return types.Bool(c > 0) }),
	"quantity_is_less_than":    compares(func(c int) ref.Val { return types.Bool(c < 0) }),
	"quantity_compare_to":      compares(func(c int) ref.Val { return types.Int(c) }),

	"string_find_string": cel.BinaryBinding(func(s, pattern ref.Val) ref.Val {
		re, err := regexp.Compile(text(pattern))
		if err != nil {
			return types.NewErr("illegal pattern: %v", err)
		}
		return types.String(re.FindString(text(s)))
	}),
}

// text is the text of a value that the compiler knows to be one.
func text(v ref.Val) string {
	s, _ := v.Value().(string)
	return s
}

func parseIP(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == "" && !a.Is4In6()
}

func says(of func(string) bool) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val {
		if s, ok := v.Value().(string); ok {
			return types.Bool(of(s))
		}
		return types.MaybeNoSuchOverloadErr(v)
	})
}

func ofURL(of func(*url.URL) string) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val {
		if u, ok := v.(kube.URL); ok {
			return types.String(of(u.URL))
		}
		return types.MaybeNoSuchOverloadErr(v)
	})
}

func compares(as func(int) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		x, ok := a.(kube.Quantity)
		y, also := b.(kube.Quantity)
		if !ok || !also {
			return types.MaybeNoSuchOverloadErr(a)
		}
		return as(x.Cmp(*y.Quantity))
	})
}
