package harness

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Code returns the gRPC code of a call's error; OK for nil.
func Code(err error) codes.Code { return status.Code(err) }

// Reason returns the stable reason of a refusal, such as CHANNEL_CLOSED; "" when there is none.
func Reason(err error) string { return info(err).GetReason() }

// Metadata returns the further facts of a refusal, such as message_id.
func Metadata(err error) map[string]string { return info(err).GetMetadata() }

func info(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}
