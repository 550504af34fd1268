// Package behaviour judges how providers behave: from the versions that objects of a
// management cluster go through, and a journal of what a driver did to them, to findings
// that name the statement of the contract and the versions that prove it.
//
// The checks are data, the family BEH. Judging is a pure function of the events: the
// only clock is theirs. It must not know the network.
package behaviour
