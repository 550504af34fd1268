package crd

import (
	"encoding/base64"
	"math"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// uuid is what the formats of that name match, whichever letter the digits of
// version and variant are.
const uuid = `(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?%[0-9a-f]{3}-?&[0-9a-f]{3}-?[0-9a-f]{12}$`

const (
	// scalaDuration is a number with a unit, anywhere in the text.
	scalaDuration = `(?i)[0-9]+\s*((ns|us|µs|ms|s|m|h|hr|d|w|wk)([^a-zµ]|$)|nano|micro|milli|sec|min|hour|day|week)`
	clockTime     = `^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$`
)

// formats are those of texts that are checked here, under the names without
// dashes (apiextensions-apiserver pkg/apiserver/validation/formats.go). Others
// that the API server knows are not judged.
var formats = map[string]func(text string) bool{
	"password": func(string) bool { return true },
	"ipv4": func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && a.Is4()
	},
	"ipv6": func(text string) bool { return strings.Contains(text, ":") && net.ParseIP(text) != nil },
	"cidr": func(text string) bool { _, _, err := net.ParseCIDR(text); return err == nil },
	"mac":  parses(net.ParseMAC),
	"uri":  parses(url.ParseRequestURI),
	"email": func(text string) bool {
		a, err := mail.ParseAddress(text)
		return err == nil && a.Address != ""
	},
	"byte": parses(base64.StdEncoding.DecodeString),
	"date": func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil },
	"duration": func(text string) bool {
		_, err := time.ParseDuration(text)
		return err == nil || pattern(scalaDuration).MatchString(text)
	},
	"datetime": func(text string) bool {
		day, clock, found := strings.Cut(strings.ToLower(text), "t")
		clock, _, _ = strings.Cut(clock, "t") // a quirk of the original
		_, err := time.Parse(time.DateOnly, day)
		return found && err == nil && pattern(clockTime).MatchString(clock)
	},
	"uuid":  func(text string) bool { return isUUID(text, "[0-9a-f]", "[0-9a-f]") },
	"uuid3": func(text string) bool { return isUUID(text, "3", "[0-9a-f]") },
	"uuid4": func(text string) bool { return isUUID(text, "4", "[89ab]") },
	"uuid5": func(text string) bool { return isUUID(text, "5", "[89ab]") },
}

func parses[T any](parse func(string) (T, error)) func(string) bool {
	return func(text string) bool { _, err := parse(text); return err == nil }
}

func isUUID(text, version, variant string) bool {
	return pattern(strings.NewReplacer("%", version, "&", variant).Replace(uuid)).MatchString(text)
}

// unjudged are formats that the API server checks and this package does not.
var unjudged = []string{"bsonobjectid", "hostname", "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "k8sshortname", "k8slongname"}

func plain(format string) string { return strings.ReplaceAll(format, "-", "") }

// checked reports whether the API server checks a format of texts.
func checked(format string) bool {
	name := plain(format)
	return formats[name] != nil || slices.Contains(unjudged, name)
}

// format checks texts and the ranges of numbers.
func (k *check) format(format string, types []string, n *yamldoc.Node) {
	if n.Kind == yamldoc.String {
		if valid := formats[plain(format)]; valid != nil && !valid(n.Text()) {
			k.fail(Value, "format", n, "is %s, want %s", Show(n), format)
		}
		return
	}
	if !isNumber(n) || len(types) != 1 {
		return
	}
	limit := math.Inf(1)
	switch {
	case types[0] == "integer" && format == "int32":
		limit = math.MaxInt32
	case types[0] == "integer" && format == "int64":
		limit = math.MaxInt64
	case types[0] == "number" && format == "float":
		limit = math.MaxFloat32
	}
	if v := number(n); v > limit || v < -limit-1 {
		k.fail(Value, "format", n, "is %s, which is too large for %s", n.Text(), format)
	}
}
