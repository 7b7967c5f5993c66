package tracing

import (
	"fmt"
	"os"
	"strings"
)

// These variables of OpenTelemetry's specification decide here whether and how spans are sent. Its Go packages read the others
// themselves: headers, certificates, timeouts, the resource, limits and the queue.
const (
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	disabledVariable       = "OTEL_SDK_DISABLED"
)

// The protocols of OTLP that are spoken here.
const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// wanted reports whether the environment names a collector and does not turn tracing off.
func wanted() bool {
	if strings.EqualFold(setting(disabledVariable), "true") || setting(exporterVariable) == "none" {
		return false
	}
	return setting(endpointVariable) != "" || setting(tracesEndpointVariable) != ""
}

// protocol returns the protocol of OTLP in which spans are sent.
func protocol() (string, error) {
	for _, name := range []string{tracesProtocolVariable, protocolVariable} {
		switch spoken := setting(name); spoken {
		case "":
		case protocolGRPC, protocolHTTP:
			return spoken, nil
		default:
			return "", fmt.Errorf("%s must be %s or %s; it is %q", name, protocolGRPC, protocolHTTP, spoken)
		}
	}
	return protocolHTTP, nil
}

// setting returns a variable of the environment. To OpenTelemetry, an empty one is not set.
func setting(name string) string { return strings.TrimSpace(os.Getenv(name)) }
