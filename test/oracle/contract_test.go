package oracle

import (
	"math/rand/v2"
	"strings"
	"testing"

	real "sigs.k8s.io/cluster-api/util/contract"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// nameParts are what kinds are made of: whole words whose plural is special, and
// endings that the rules know.
var nameParts = strings.Fields(`
aircraft beef bison blues chassis deer fish moose police salmon series sheep shrimp species swine trout tuna you
child children ox oxen foot feet goose man men human louse lice mouse mice tooth woman die dice person people
adieu adieux adieus fabliau bureau bureaux criterion criteria ganglion lexicon mitochondrion noumenon phenomenon taxon
media medium mediums stadium stadia aquarium auditorium symposium curriculum curricula quota quotas alumnus bacillus cactus
coccus focus locus nucleus octopus octupuses octopi radius syllabus corpus genus alumna vertebra differentia minutia vita larva
postcava praecava uva apex codex index indices latex vertex vortex appendix radix helix axis axes crisis ellipsis genesis oasis
thesis testis base bases basis alias aliases vedalia use uses abuse cause clause cruse excuse fuse house misuse muse pause ache
topaz buffalo potato tomato equipment information jeans money news rice dwarf hoof thief chive hive move movie cookie pretorium
agenda formula formulae shoe toe graffiti id ids tive eaf oaf afe arf rfe rf lf fe ay ey oy quy uy y eau bula dula lula nula vula
hedron ium seum eum oum stracum dum elum ilum olum ulum llum ylum imum ernum gnum brum crum terum serum trum antum atum entum etum
itum otum utum ctum ovum trix iasis mesis kinesis resis gnosis opsis ysis ouse lause us ch io sh ss ez iz tz zz ano lo to oo o x s
ok utf8 html json jwt uuid sql ack acl adsl aes ansi api arp atm bgp bss ccitt chap cidr cir cli cpe cpu crc crt csma cmos dce dec
des dhcp dns dram dsl dslam dte dmi eha eia eigrp eof ess fcc fcs fddi ftp gbic gbps gepof hdlc http https iana icmp idf ieee ietf
imap ip ips isdn isp kbps lacp lan lapb lapf llc mac mbps mc mdf mib moca mpls mtu nac nat nbma nic nrz nrzi nvram osi ospf oui pap
pat pc pim pcm pdu pop3 pots ppp pptp ptt pvst ram rarp rfc rip rll rom rstp rtp rcp sdlc sfd sfp slarp slip smtp sna snap snmp sof
sram ssh ssid stp syn tdm tftp tia tofu udp url uri usb utp vc vlan vlsm vpn w3c wan wep wifi wpa www
foo cluster machine pool template config proxy policy gateway key status class address box batch mesh quiz prefix matrix leaf shelf
roof gas bios vpc endpoints settings data metadata hardware schema photo hero memo video logo repo cargo metro database
a b c d e f g h i j k l m n p q r t u v w z 0 1 es os is as -
`)

// TestCRDName compares the names of definitions with those that Cluster API
// computes, for all parts with each other and for words made by chance.
func TestCRDName(t *testing.T) {
	t.Parallel()
	compare := func(kind string) {
		if kind == "" || strings.Trim(kind, "-") != kind {
			return // the API server has no such kind
		}
		if want, got := real.CalculateCRDName("x.io", kind), contract.CRDName("x.io", kind); got != want {
			t.Fatalf("%s: Cluster API %s, here %s", kind, want, got)
		}
	}
	for _, a := range nameParts {
		compare(a)
		for _, b := range nameParts {
			compare(a + b)
			compare("Foo" + a + b)
			compare(a + "-" + b)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var kind strings.Builder
		for range 1 + rng.IntN(4) {
			kind.WriteString(nameParts[rng.IntN(len(nameParts))])
		}
		compare(strings.ReplaceAll(kind.String(), "--", "-"))
	}
}
