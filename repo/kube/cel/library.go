package cel

import (
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	kube "k8s.io/apiserver/pkg/cel"
)

// functions are the functions of Kubernetes, one line for each overload: a function
// or a .method, what it takes and gives, and the name of the overload
// (k8s.io/apiserver/pkg/cel/library).
const functions = `
url(string) url string_to_url
isURL(string) bool is_url_string
.getScheme(url) string url_get_scheme
.getHost(url) string url_get_host
.getHostname(url) string url_get_hostname
.getPort(url) string url_get_port
.getEscapedPath(url) string url_get_escaped_path
.getQuery(url) query url_get_query
.find(string,string) string string_find_string
.findAll(string,string) strings string_find_all_string
.findAll(string,string,int) strings string_find_all_string_int
.indexOf(as,a) int list_a_index_of_int
.lastIndexOf(as,a) int list_a_last_index_of_int
quantity(string) quantity string_to_quantity
isQuantity(string) bool is_quantity_string
sign(quantity) int quantity_sign
.isGreaterThan(quantity,quantity) bool quantity_is_greater_than
.isLessThan(quantity,quantity) bool quantity_is_less_than
.compareTo(quantity,quantity) int quantity_compare_to
.asApproximateFloat(quantity) double quantity_get_float
.asInteger(quantity) int quantity_get_int
.isInteger(quantity) bool quantity_is_integer
.add(quantity,quantity) quantity quantity_add
.add(quantity,int) quantity quantity_add_int
.sub(quantity,quantity) quantity quantity_sub
.sub(quantity,int) quantity quantity_sub_int
ip(string) ip string_to_ip
.family(ip) int ip_family
ip.isCanonical(string) bool ip_is_canonical
.isUnspecified(ip) bool ip_is_unspecified
.isLoopback(ip) bool ip_is_loopback
.isLinkLocalMulticast(ip) bool ip_is_link_local_multicast
.isLinkLocalUnicast(ip) bool ip_is_link_local_unicast
.isGlobalUnicast(ip) bool ip_is_global_unicast
isIP(string) bool is_ip
string(ip) string ip_to_string
cidr(string) cidr string_to_cidr
.containsIP(cidr,string) bool cidr_contains_ip_string
.containsIP(cidr,ip) bool cidr_contains_ip_ip
.containsCIDR(cidr,string) bool cidr_contains_cidr_string
.containsCIDR(cidr,cidr) bool cidr_contains_cidr
.ip(cidr) ip cidr_ip
.prefixLength(cidr) int cidr_prefix_length
.masked(cidr) cidr cidr_masked
isCIDR(string) bool is_cidr
string(cidr) string cidr_to_string
.validate(format,string) problems format-validate
format.named(string) format? format-named
semver(string) semver string_to_semver
semver(string,bool) semver string_bool_to_semver
isSemver(string) bool is_semver_string
isSemver(string,bool) bool is_semver_string_bool
.isGreaterThan(semver,semver) bool semver_is_greater_than
.isLessThan(semver,semver) bool semver_is_less_than
.compareTo(semver,semver) int semver_compare_to
.major(semver) int semver_major
.minor(semver) int semver_minor
.patch(semver) int semver_patch`

// formats are the functions format.NAME(), which take nothing.
const formats = "dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix dns1123SubdomainPrefix dns1035LabelPrefix labelValue uri uuid byte date datetime"

// comparable and summable are the types of elements for isSorted, min and max, and
// for sum.
const (
	comparable = "int uint double bool duration timestamp string bytes"
	summable   = "int uint double duration"
)

// typeNames are the types in the tables.
func typeNames() map[string]*cel.Type {
	a := cel.TypeParamType("A")
	return map[string]*cel.Type{
		"string": cel.StringType, "bool": cel.BoolType, "int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType, "bytes": cel.BytesType,
		"duration": cel.DurationType, "timestamp": cel.TimestampType, "a": a, "as": cel.ListType(a), "strings": cel.ListType(cel.StringType),
		"query": cel.MapType(cel.StringType, cel.ListType(cel.StringType)), "url": kube.URLType, "quantity": kube.QuantityType, "ip": kube.IPType,
		"cidr": kube.CIDRType, "semver": kube.SemverType, "format": kube.FormatType, "format?": cel.OptionalType(kube.FormatType),
		"problems": cel.OptionalType(cel.ListType(cel.StringType)),
	}
}

// declarations makes the options that declare the functions of Kubernetes. Most
// have no implementation: only their types and costs are needed.
func declarations() []cel.EnvOption {
	types := typeNames()
	var out []cel.EnvOption
	for line := range strings.SplitSeq(strings.TrimSpace(functions), "\n") {
		words := strings.Fields(line)
		name, list, _ := strings.Cut(strings.TrimSuffix(words[0], ")"), "(")
		var in []*cel.Type
		for arg := range strings.SplitSeq(list, ",") {
			in = append(in, types[arg])
		}
		overload := cel.Overload
		if strings.HasPrefix(name, ".") {
			name, overload = name[1:], cel.MemberOverload
		}
		var options []cel.OverloadOpt
		if binding := bindings[words[2]]; binding != nil {
			options = append(options, binding)
		}
		out = append(out, cel.Function(name, overload(words[2], in, types[words[1]], options...)))
	}
	for name := range strings.FieldsSeq(formats) {
		name = "format." + name
		out = append(out, cel.Function(name, cel.Overload(name, []*cel.Type{}, kube.FormatType)))
	}
	for name := range strings.FieldsSeq(comparable) {
		t := []*cel.Type{cel.ListType(types[name])}
		out = append(out,
			cel.Function("isSorted", cel.MemberOverload("list_"+name+"_is_sorted_bool", t, cel.BoolType)),
			cel.Function("max", cel.MemberOverload("list_"+name+"_max_"+name, t, types[name])),
			cel.Function("min", cel.MemberOverload("list_"+name+"_min_"+name, t, types[name])))
	}
	for name := range strings.FieldsSeq(summable) {
		out = append(out, cel.Function("sum", cel.MemberOverload("list_"+name+"_sum_"+name, []*cel.Type{cel.ListType(types[name])}, types[name])))
	}
	return append(out, cel.Types(kube.URLType, kube.QuantityType, kube.IPType, kube.CIDRType, kube.SemverType, kube.FormatType))
}

// declared are the names of the overloads of Kubernetes that are not evaluated.
var declared = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(functions), "\n") {
		if name := strings.Fields(line)[2]; bindings[name] == nil {
			out[name] = true
		}
	}
	for name := range strings.FieldsSeq(formats) {
		out["format."+name] = true
	}
	for name := range strings.FieldsSeq(comparable) {
		for _, overload := range [...]string{"_is_sorted_bool", "_max_" + name, "_min_" + name, "_sum_" + name} {
			out["list_"+name+overload] = true
		}
	}
	return out
})

// environment is that of new expressions (k8s.io/apiserver/pkg/cel/environment,
// base.go), made when the first rule is met.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true), // once, and not for each type again
		cel.DefaultUTCTimeZone(true),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals()),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
	}
	return cel.NewEnv(append(options, declarations()...)...)
})
