// Package fault breaks the answers of a server in the ways that real servers,
// networks and second users break them. What happens to which request is data: a
// [Rule]. An [Injector] wraps a handler, applies the rules and keeps a log of the
// requests.
//
// It must not know which protocol the handler speaks. A fault that concerns the
// state of the server, an [Effect], goes to the handler with the request.
package fault
