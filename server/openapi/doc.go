// Package openapi makes the OpenAPI 3.1 document of the REST API.
//
//	protos' comments ┐
//	descriptors      ├ Describe → the document
//	bindings, streams┘
//
// It knows what the contract's messages look like as JSON: a schema for an answer says which members are always there, and which may be
// null; a schema for a request has the bounds of the protos. Which paths there are, which headers a call takes and with which status it
// answers, the server says, out of the tables by which it works. So the document cannot say something else than the server does, except
// for what nulls.go claims, which the tests hold against all answers that they get.
//
// # What must hold
//
// Each $ref leads to a schema, and each schema is reached by a $ref. Equal contracts give equal documents, byte by byte.
//
// # What happens on failure
//
// Describe fails if two different things would have one name.
package openapi
