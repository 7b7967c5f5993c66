package doors

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/internal/fault"
)

func TestRefusalsNameTheArgumentsThatWereGiven(t *testing.T) {
	arguments := Arguments{
		"payload": {"text", "payload"}, "to": {"target.recipient", "target.role"}, "ttl_seconds": {"ttl_s"},
		"agents[0]": {"agent"}, "input": {"scope", "criteria"}, "input.criteria": {"criteria"},
	}
	for _, row := range []struct{ field, given, name string }{
		{"payload", `{"text":"x"}`, "text"},
		{"payload", `{"payload":{}}`, "payload"},
		{"payload", `{}`, "text"},
		{"payload.text", `{"text":"x"}`, "text"},
		{"payload.text", `{"payload":{"text":"x"}}`, "payload.text"},
		{"payload.a[3].b", `{"payload":{}}`, "payload.a[3].b"},
		{"to", `{"target":{"role":"x"}}`, "target.role"},
		{"to", `{"target":{}}`, "target.recipient"},
		{"to", `{"target":7}`, "target.recipient"},
		{"ttl_seconds", `{"ttl_s":0}`, "ttl_s"},
		{"collect", `{"collect":0}`, "collect"},
		{"agents[0]", `{}`, "agent"},
		{"agents[1]", `{}`, "agents[1]"},
		{"input", `{"criteria":0}`, "criteria"},
		{"input", `{"criteria":0,"scope":0}`, "scope"},
		{"input.criteria", `{"criteria":0,"scope":0}`, "criteria"},
		{"input.scope.a", `{"scope":0}`, "scope.scope.a"},
		{"ttl_seconds", `no JSON`, "ttl_s"},
	} {
		made, err := status.New(codes.InvalidArgument, row.field+": It must be better. (and 1 more)").WithDetails(
			&errdetails.ErrorInfo{Reason: "INVALID_FIELD", Metadata: map[string]string{"a": "b"}},
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: row.field}, {Field: "ttl_seconds"}}},
		)
		require.NoError(t, err)
		refusal := RefusalOf(arguments.Explain(made.Err(), json.RawMessage(row.given)))
		require.Equal(t, row.name+": It must be better. (and 1 more)", refusal.Message)
		require.Equal(t, "INVALID_FIELD", refusal.Reason)
		require.Equal(t, map[string]string{"a": "b"}, refusal.Facts)
	}
	for _, err := range []error{
		nil, errors.New("no status"), fault.BadField("payload", "a door's own words"),
		status.Error(codes.NotFound, "payload: no field is named in the details"),
	} {
		require.Equal(t, err, arguments.Explain(err, nil))
	}
}
