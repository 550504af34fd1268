// Package rack is an infrastructure provider of machine pools with machines, which has
// nothing but objects: an honest one, and for each rule of the contract of pools one that
// breaks it. It exists because the provider in memory has no pools.
//
// It must not know how it is judged.
package rack
