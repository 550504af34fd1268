package extension

import _ "embed"

// openAPI is made by the test that keeps it equal to what Cluster API makes of its
// types (test/oracle, TestOpenAPI). Its prose is ours.
//
//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the OpenAPI v3 document of all hooks in YAML, with the schemas of
// their requests and responses. It is that of the newest Cluster API.
func OpenAPI() []byte { return openAPI }
