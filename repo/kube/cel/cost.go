package cel

import (
	"math"
	"strings"
	"sync"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	kube "k8s.io/apiserver/pkg/cel"
)

// Limits of the estimated cost of one expression and of all in a schema
// (apiextensions-apiserver pkg/apis/apiextensions/validation).
const (
	mostCost      = 10_000_000
	mostTotalCost = 100_000_000
)

// estimator knows the costs of the functions of Kubernetes and the sizes of values
// (k8s.io/apiserver/pkg/cel/library, CostEstimator).
type estimator struct{ root *kube.DeclType }

// callCost is what a call costs; nil if cel-go knows it.
type callCost func(e estimator, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate

// costs are functions by what they cost. The others are known to cel-go.
var costs = sync.OnceValue(func() map[string]callCost {
	out := map[string]callCost{}
	for names, cost := range map[string]callCost{
		"masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named " +
			"sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch " +
			"getScheme getHostname getHost getPort getEscapedPath getQuery": nominal,
		"url jsonpatch.escapeKey":                              sameSize,
		"lowerAscii upperAscii substring trim":                 ofTarget,
		"cidr isIP isCIDR quantity isQuantity semver isSemver": read(1),
		"ip.isCanonical":                                       read(2),
		"ip":                                                   ipCost,
		"validate":                                             read(kube.MaxNameFormatRegexSize * common.RegexStringLengthCostFactor),
		"isSorted sum max min indexOf lastIndexOf":             listCost,
		"replace":                                              replaceCost,
		"split":                                                splitCost,
		"join":                                                 joinCost,
		"find findAll":                                         findCost,
		"containsIP":                                           containsCost("cidr_contains_ip_string", false),
		"containsCIDR":                                         containsCost("cidr_contains_cidr_string", true),
		"_==_":                                                 equalCost,
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = cost
		}
	}
	return out
})

// EstimateCallCost implements checker.CostEstimator.
func (e estimator) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if cost, ok := costs()[function]; ok {
		return cost(e, overload, target, args)
	}
	return nil
}

// EstimateSize implements checker.CostEstimator: the size of a value that the
// schema describes.
func (e estimator) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if len(element.Path()) == 0 {
		return nil
	}
	t := e.root
	for _, name := range element.Path()[1:] {
		switch name {
		case "@items", "@values":
			t = t.ElemType
		case "@keys":
			t = t.KeyType
		default:
			field := t.Fields[name]
			if field == nil {
				return nil
			}
			t = field.Type
		}
		if t == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(t.MaxElements)}
}

// size is what is known of the size of a value.
func (e estimator) size(n checker.AstNode) checker.SizeEstimate {
	if s := n.ComputedSize(); s != nil {
		return *s
	}
	if s := e.EstimateSize(n); s != nil {
		return *s
	}
	return checker.SizeEstimate{Max: math.MaxUint64}
}

// element stands for the elements of a list.
type element struct {
	path []string
	typ  *types.Type
}

func (n element) Path() []string                      { return n.path }
func (n element) Type() *types.Type                   { return n.typ }
func (n element) Expr() ast.Expr                      { return nil }
func (n element) ComputedSize() *checker.SizeEstimate { return nil }

// elements returns what stands for the elements of a list; nil for a text.
func elements(list checker.AstNode) checker.AstNode {
	parameters := list.Type().Parameters()
	if len(parameters) == 0 {
		return nil
	}
	n := element{typ: parameters[0]}
	if path := list.Path(); path != nil {
		n.path = append(path[:len(path):len(path)], "@items")
	}
	return n
}

func traversal(s checker.SizeEstimate) checker.CostEstimate {
	return s.MultiplyByCostFactor(common.StringTraversalCostFactor)
}

var one = checker.CostEstimate{Min: 1, Max: 1}

func nominal(estimator, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: one}
}

func sameSize(e estimator, _ string, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if len(args) != 1 {
		return nil
	}
	s := e.size(args[0])
	return &checker.CallEstimate{CostEstimate: traversal(s), ResultSize: &s}
}

func ofTarget(e estimator, _ string, target *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	if target == nil {
		return nil
	}
	s := e.size(*target)
	return &checker.CallEstimate{CostEstimate: traversal(s), ResultSize: &s}
}

// read is the cost of reading the first argument so many times.
func read(times float64) callCost {
	return func(e estimator, _ string, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
		if len(args) == 0 {
			return nil
		}
		s := e.size(args[0])
		switch times {
		case 1:
			return &checker.CallEstimate{CostEstimate: traversal(s)}
		case 2:
			return &checker.CallEstimate{CostEstimate: s.MultiplyByCostFactor(2 * common.StringTraversalCostFactor)}
		}
		return &checker.CallEstimate{CostEstimate: traversal(s).MultiplyByCostFactor(times)}
	}
}

func ipCost(e estimator, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if overload == "cidr_ip" {
		return &checker.CallEstimate{CostEstimate: one}
	}
	return read(1)(e, overload, target, args)
}

func listCost(e estimator, _ string, target *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	if target == nil {
		return nil
	}
	n := elements(*target)
	if n == nil {
		return &checker.CallEstimate{CostEstimate: traversal(e.size(*target))}
	}
	cost := one
	if kind := n.Type().Kind(); kind == types.StringKind || kind == types.BytesKind {
		cost = cost.Add(traversal(e.size(n)))
	}
	return &checker.CallEstimate{CostEstimate: e.size(*target).MultiplyByCost(cost)}
}

func replaceCost(e estimator, _ string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if target == nil || len(args) < 2 {
		return nil
	}
	s, from, to := e.size(*target), e.size(args[0]), e.size(args[1])
	var count, kept checker.SizeEstimate
	// An empty text is replaced around each character; otherwise the longest result
	// comes from the most replacements, if they make the text longer at all.
	switch {
	case from.Min == 0:
		count.Max, kept.Max = plusOne(s.Max), s.Max
	case to.Max <= from.Min:
		kept.Max = s.Max
	default:
		count.Max = uint64(math.Ceil(float64(s.Max) / float64(from.Min)))
	}
	switch {
	case from.Max == 0:
		count.Min, kept.Min = plusOne(s.Min), s.Min
	case from.Max <= to.Min:
		kept.Min = s.Min
	default:
		count.Min = uint64(math.Ceil(float64(s.Min) / float64(from.Max)))
	}
	size := count.Multiply(to).Add(kept)
	return &checker.CallEstimate{CostEstimate: s.MultiplyByCostFactor(2 * common.StringTraversalCostFactor), ResultSize: &size}
}

func plusOne(n uint64) uint64 {
	if n < math.MaxUint64 {
		n++
	}
	return n
}

func splitCost(e estimator, _ string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if target == nil {
		return nil
	}
	s := e.size(*target)
	most := s.Max
	if len(args) > 1 {
		if literal := args[1].Expr().AsLiteral(); literal != nil {
			if n, ok := literal.Value().(int64); ok {
				most = uint64(n)
			}
		}
	}
	return &checker.CallEstimate{CostEstimate: s.MultiplyByCostFactor(2 * common.StringTraversalCostFactor), ResultSize: &checker.SizeEstimate{Max: most}}
}

func joinCost(e estimator, _ string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if target == nil {
		return nil
	}
	var s checker.SizeEstimate
	list := e.size(*target)
	if n := elements(*target); n != nil {
		s = list.Multiply(e.size(n))
	}
	if len(args) > 0 {
		between := checker.SizeEstimate{Min: max(list.Min, 1) - 1, Max: max(list.Max, 1) - 1}
		s = s.Add(e.size(args[0]).Multiply(between))
	}
	return &checker.CallEstimate{CostEstimate: traversal(s), ResultSize: &s}
}

func findCost(e estimator, _ string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if target == nil || len(args) == 0 {
		return nil
	}
	s := e.size(*target)
	text := traversal(s.Add(checker.SizeEstimate{Min: 1, Max: 1}))
	pattern := e.size(args[0]).MultiplyByCostFactor(common.RegexStringLengthCostFactor)
	return &checker.CallEstimate{CostEstimate: text.Multiply(pattern), ResultSize: &checker.SizeEstimate{Max: s.Max}}
}

// containsCost is the cost of comparing addresses, of which one may be a text.
func containsCost(ofText string, network bool) callCost {
	return func(e estimator, overload string, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
		if len(args) == 0 {
			return nil
		}
		address := checker.SizeEstimate{Min: 4, Max: 16}
		cost := traversal(address.Add(address))
		if network {
			cost = cost.Add(traversal(address)).Add(one)
		}
		if overload == ofText {
			cost = cost.Add(checker.CostEstimate(e.size(args[0])).MultiplyByCostFactor(common.StringTraversalCostFactor))
		}
		return &checker.CallEstimate{CostEstimate: cost}
	}
}

func equalCost(_ estimator, _ string, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if len(args) != 2 || args[0].Type().Equal(args[1].Type()) != types.True {
		return nil
	}
	switch t := args[0].Type(); {
	case t.Kind() == types.OpaqueKind && (t.TypeName() == kube.IPType.TypeName() || t.TypeName() == kube.CIDRType.TypeName()),
		t == kube.QuantityType, t == kube.SemverType:
		return &checker.CallEstimate{CostEstimate: one}
	case t == kube.FormatType:
		return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Min: 1, Max: kube.MaxFormatSize}.MultiplyByCostFactor(common.StringTraversalCostFactor)}
	case t == kube.URLType:
		most := uint64(1)
		if s := args[1].ComputedSize(); s != nil {
			most = s.Max
		}
		return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Min: 1, Max: most}.MultiplyByCostFactor(common.StringTraversalCostFactor)}
	}
	return nil
}
