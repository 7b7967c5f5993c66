// Package openapi holds the OpenAPI 2.0 document of the REST API, generated from the protos. This file is the only
// one under gen/ that is written by hand.
package openapi

import _ "embed"

// Document is the OpenAPI 2.0 description of the REST API, as JSON. It must not be modified.
//
//go:embed openintent.swagger.json
var Document []byte
