// Package transport is the HTTP client under the destinations that speak HTTP:
// it adds credentials for one host and no other, waits when a server says so,
// repeats what is safe to repeat, gives up on a server that stalls, and resumes
// a download that broke off.
//
// It must not know what the requests mean. It never repeats a request that may
// have changed something: its error then says that the outcome is unknown, and the
// caller looks at what is there (publish.Temporary).
package transport
