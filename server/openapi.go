package server

import (
	"fmt"
	"strings"

	"openintent/server/openapi"
)

// apiDocument describes the REST face by the tables that it works with: the routes, the headers that become fields, the statuses of
// creations, the streams, and the doors that are open.
func apiDocument(doors []string) (document, error) {
	table, err := newRoutes()
	if err != nil {
		return document{}, err
	}
	known, err := readContract()
	if err != nil {
		return document{}, err
	}
	contract := openapi.Contract{Streams: describeStreams(), Doors: listDoors(doors)}
	for _, route := range table.all {
		name := fmt.Sprintf("/%s/%s", route.method.Parent().FullName(), route.method.Name())
		called := known.methods[name]
		contract.Bindings = append(contract.Bindings, &openapi.Binding{
			Method:         route.method,
			Rule:           route.rule,
			Verb:           route.verb,
			Path:           "/" + strings.Join(route.segments, "/"),
			Created:        creations[name],
			IfMatch:        called.expectedVersion != nil,
			IdempotencyKey: called.idempotencyKey != nil,
		})
	}
	api, err := openapi.Describe(contract)
	if err != nil {
		return document{}, err
	}
	return jsonDocument(api)
}
