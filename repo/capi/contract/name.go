package contract

import "strings"

// CRDName returns the name that a definition must have so that Cluster API
// finds it by group and kind (util/contract.CalculateCRDName). The kind must be
// one that the API server accepts: letters, digits and dashes.
//
// The original asks a library that reads files of the working directory when it
// is loaded, so that a repository could change the answer; its rules are below
// instead. The tests compare the two.
func CRDName(group, kind string) string { return plural(strings.ToLower(kind)) + "." + group }

// plural returns the plural of a word in lower case.
func plural(word string) string {
	head, last := "", word
	if i := strings.LastIndexByte(word, '-'); i >= 0 {
		head, last = word[:i+1], word[i+1:]
	}
	for _, acronym := range acronyms {
		if last == acronym {
			last = strings.ToUpper(last)
			return word + last + "es" // no plural at all, but that is what comes out
		}
	}
	for _, w := range wholeWords {
		if last == w.singular {
			return head + w.plural
		}
	}
	for _, e := range endings {
		if strings.HasSuffix(last, e.plural) {
			return word
		}
		if stem, ok := strings.CutSuffix(last, e.singular); ok {
			return head + stem + e.plural
		}
	}
	if strings.HasSuffix(last, "s") {
		return word
	}
	return word + "s"
}

// noun is a word, or the end of words, and its plural.
type noun struct{ singular, plural string }

// acronyms are those that end in S. The library treats them as words in upper
// case and then does not find them in the name.
var acronyms = [...]string{"aes", "bss", "cmos", "des", "dns", "ess", "fcs", "https", "ids", "ips", "mpls", "pots"}

// wholeWords do not follow the endings, or only their whole is meant.
var wholeWords = [...]noun{
	{"adieus", "adieus"}, {"alias", "aliases"}, {"axis", "axes"}, {"dice", "dice"}, {"die", "dice"},
	{"eia", "eias"}, {"formulae", "formulae"}, {"lice", "lice"}, {"louse", "lice"}, {"octopi", "octopi"},
	{"ox", "oxen"}, {"oxen", "oxen"}, {"ssh", "sshs"}, {"tia", "tias"},
}

// endings are tried in this order. Some are wrong as English; they are what
// Cluster API computes.
var endings = [...]noun{
	{"graffiti", "graffiti"}, {"formula", "formulas"}, {"agenda", "agendas"}, {"pretorium", "pretoriums"}, {"thief", "thieves"},
	{"dwarf", "dwarfs"}, {"rice", "rice"}, {"money", "money"}, {"information", "information"}, {"equipment", "equipment"},
	{"tomato", "tomatoes"}, {"potato", "potatoes"}, {"buffalo", "buffaloes"}, {"topaz", "topazes"}, {"vedalia", "vedalias"},
	{"basis", "bases"}, {"testis", "testes"}, {"thesis", "theses"}, {"oasis", "oases"}, {"genesis", "geneses"},
	{"ellipsis", "ellipses"}, {"crisis", "crises"}, {"helix", "helices"}, {"radix", "radices"}, {"appendix", "appendices"},
	{"vortex", "vortices"}, {"vertex", "vertices"}, {"latex", "latices"}, {"index", "indices"}, {"codex", "codices"},
	{"apex", "apices"}, {"uva", "uvae"}, {"praecava", "praecavae"}, {"postcava", "postcavae"}, {"larva", "larvae"},
	{"vita", "vitae"}, {"minutia", "minutiae"}, {"differentia", "differentiae"}, {"vertebra", "vertebrae"}, {"alumna", "alumnae"},
	{"genus", "genera"}, {"corpus", "corpora"}, {"syllabus", "syllabi"}, {"radius", "radii"}, {"octopus", "octupuses"},
	{"nucleus", "nuclei"}, {"locus", "loci"}, {"focus", "foci"}, {"coccus", "cocci"}, {"cactus", "cacti"},
	{"bacillus", "bacilli"}, {"alumnus", "alumni"}, {"quota", "quotas"}, {"curriculum", "curriculums"}, {"stadium", "stadiums"},
	{"taxon", "taxa"}, {"phenomenon", "phenomena"}, {"noumenon", "noumena"}, {"mitochondrion", "mitochondria"}, {"lexicon", "lexica"},
	{"ganglion", "ganglia"}, {"criterion", "criteria"}, {"bureau", "bureaus"}, {"fabliau", "fabliaux"}, {"adieu", "adieux"},
	{"person", "people"}, {"tooth", "teeth"}, {"mouse", "mice"}, {"human", "humans"}, {"man", "men"},
	{"goose", "geese"}, {"foot", "feet"}, {"child", "children"}, {"you", "you"}, {"tuna", "tuna"},
	{"trout", "trout"}, {"swine", "swine"}, {"shrimp", "shrimp"}, {"sheep", "sheep"}, {"salmon", "salmon"},
	{"police", "police"}, {"moose", "moose"}, {"fish", "fish"}, {"deer", "deer"}, {"bison", "bison"},
	{"beef", "beef"}, {"aircraft", "aircraft"}, {"eaf", "eaves"}, {"oaf", "oaves"}, {"rf", "rves"},
	{"lf", "lves"}, {"fe", "ves"}, {"ay", "ays"}, {"ey", "eys"}, {"oy", "oys"},
	{"quy", "quies"}, {"uy", "uys"}, {"y", "ies"}, {"eau", "eaux"}, {"bula", "bulae"},
	{"dula", "bulae"}, {"lula", "bulae"}, {"nula", "bulae"}, {"vula", "bulae"}, {"hedron", "hedra"},
	{"ium", "ia"}, {"seum", "seums"}, {"eum", "ea"}, {"oum", "oa"}, {"stracum", "straca"},
	{"dum", "da"}, {"elum", "ela"}, {"ilum", "ila"}, {"olum", "ola"}, {"ulum", "ula"},
	{"llum", "lla"}, {"ylum", "yla"}, {"imum", "ima"}, {"ernum", "erna"}, {"gnum", "gna"},
	{"brum", "bra"}, {"crum", "cra"}, {"terum", "tera"}, {"serum", "sera"}, {"trum", "tra"},
	{"antum", "anta"}, {"atum", "ata"}, {"entum", "enta"}, {"etum", "eta"}, {"itum", "ita"},
	{"otum", "ota"}, {"utum", "uta"}, {"ctum", "cta"}, {"ovum", "ova"}, {"trix", "trices"},
	{"iasis", "iases"}, {"mesis", "meses"}, {"kinesis", "kineses"}, {"resis", "reses"}, {"gnosis", "gnoses"},
	{"opsis", "opses"}, {"ysis", "yses"}, {"us", "uses"}, {"ch", "ches"}, {"io", "ios"},
	{"sh", "shes"}, {"ss", "sses"}, {"ez", "ezzes"}, {"iz", "izzes"}, {"tz", "tzes"},
	{"zz", "zzes"}, {"ano", "anos"}, {"lo", "los"}, {"to", "tos"}, {"oo", "oos"},
	{"o", "oes"}, {"x", "xes"},
}
