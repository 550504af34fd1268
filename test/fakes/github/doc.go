// Package github is a server that speaks GitHub's REST protocol for releases, in
// memory and on the loopback interface. It answers as GitHub does where clients
// stumble: drafts, tags made at publishing, renamed and unfinished assets, limits,
// redirects to another host, repositories that were renamed.
//
// The same server is GitHub and GitHub Enterprise. A request says by its host and
// path what it wants to talk to:
//
//	api.D, uploads.D, D                 three of the hosts of a GitHub at D, as github.com
//	objects.*                           the storage of every GitHub, see [Hosts]
//	H/api/v3, H/api/uploads, H          a GitHub Enterprise at H
//	the addresses of [Server.Start]     a GitHub on loopback ports, either of the two
//
// What is broken on purpose comes from package fault. The source of the behaviour
// is GitHub's OpenAPI description, the requests recorded in the npm package
// @octokit/fixtures, and error messages quoted in public issues.
//
// It must not know any client.
package github
