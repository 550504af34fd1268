// Package policy decides which releases may be used: whose key must have signed
// which provider, and which may be unsigned, for a stated reason.
//
// It must not know where the policy file and the keys come from.
package policy
