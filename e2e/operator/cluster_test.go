//go:build failover

package operator

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// The cluster is that of scripts/with-patroni.sh. Its database openintent is used by nobody else.
func TestAnOperatorsDayOnACluster(t *testing.T) {
	var hosts, ports []string
	for node := range strings.SplitSeq(os.Getenv("OPENINTENT_TEST_CLUSTER_NODES"), ",") {
		address, _, _ := strings.Cut(node, "/")
		host, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		hosts, ports = append(hosts, host), append(ports, port)
	}
	play(t, fmt.Sprintf("postgres://openintent:%s@/openintent?host=%s&port=%s&sslmode=disable&target_session_attrs=read-write",
		os.Getenv("OPENINTENT_TEST_CLUSTER_SECRET"), strings.Join(hosts, ","), strings.Join(ports, ",")),
		databasetest.BlankURL(t, database.PostgreSQL))
}
