//go:build failover

package torture

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// cluster is the PostgreSQL under Patroni that scripts/with-patroni.sh runs.
type cluster struct {
	t      *testing.T
	secret string
	nodes  []*node
}

// node is a server of the cluster, with its Patroni.
type node struct {
	name, folder string
	// postgres and patroni are the addresses of PostgreSQL and of Patroni's API.
	postgres, patroni string
}

func openCluster(t *testing.T) *cluster {
	folder := os.Getenv("OPENINTENT_TEST_CLUSTER")
	require.NotEmpty(t, folder, "run this test with scripts/with-patroni.sh, as make failover does")
	c := &cluster{t: t, secret: os.Getenv("OPENINTENT_TEST_CLUSTER_SECRET")}
	for i, addresses := range strings.Split(os.Getenv("OPENINTENT_TEST_CLUSTER_NODES"), ",") {
		postgres, patroni, _ := strings.Cut(addresses, "/")
		name := string(rune('a' + i))
		c.nodes = append(c.nodes, &node{name: name, folder: filepath.Join(folder, name), postgres: postgres, patroni: patroni})
	}
	primary, _ := c.primary()
	c.execute(primary, "CREATE TABLE IF NOT EXISTS probe (number bigint PRIMARY KEY)", "DELETE FROM probe", "INSERT INTO probe VALUES (0)")
	return c
}

// url leads to all nodes, as an operator would write it for the server.
func (c *cluster) url() string {
	var hosts, ports []string
	for _, n := range c.nodes {
		host, port, err := net.SplitHostPort(n.postgres)
		require.NoError(c.t, err)
		hosts, ports = append(hosts, host), append(ports, port)
	}
	return fmt.Sprintf("postgres://openintent:%s@/openintent?host=%s&port=%s&sslmode=disable",
		c.secret, strings.Join(hosts, ","), strings.Join(ports, ","))
}

// at returns connections to a database of one node, as the administrator. They are made when they are first needed.
func (c *cluster) at(n *node, database string) *sql.DB {
	pool, err := sql.Open("pgx", fmt.Sprintf("postgres://postgres:%s@%s/%s?sslmode=disable", c.secret, n.postgres, database))
	require.NoError(c.t, err)
	return pool
}

// execute runs statements at a node as the administrator.
func (c *cluster) execute(n *node, statements ...string) {
	ctx, cancel := context.WithTimeout(c.t.Context(), harness.Patience)
	defer cancel()
	pool := c.at(n, "postgres")
	defer func() { _ = pool.Close() }()
	for _, statement := range statements {
		_, err := pool.ExecContext(ctx, statement)
		require.NoError(c.t, err)
	}
}

// ask makes a request to a node's Patroni, and reads its answer if there is somewhere to read it to.
func (n *node) ask(ctx context.Context, method, path string, body, answer any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	sent, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+n.patroni+path, bytes.NewReader(sent))
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if answer != nil {
		err = json.NewDecoder(response.Body).Decode(answer)
	}
	return response.StatusCode, err
}

// primary returns the node that is the primary by Patroni's account, and the other one.
func (c *cluster) primary() (primary, other *node) {
	c.await("a primary", func(ctx context.Context) bool {
		for i, n := range c.nodes {
			if status, err := n.ask(ctx, http.MethodGet, "/primary", nil, nil); err == nil && status == http.StatusOK {
				primary, other = n, c.nodes[1-i]
				return true
			}
		}
		return false
	})
	return primary, other
}

// awaitWhole returns once one node is the primary and the other one follows it, as the synchronous standby if that is wanted.
func (c *cluster) awaitWhole(synchronous bool) {
	c.await("the cluster to be whole", func(ctx context.Context) bool {
		roles := make(map[string]int)
		for _, n := range c.nodes {
			for _, role := range []string{"primary", "synchronous", "asynchronous"} {
				if status, err := n.ask(ctx, http.MethodGet, "/"+role, nil, nil); err == nil && status == http.StatusOK {
					roles[role]++
				}
			}
		}
		standby := map[bool]string{true: "synchronous", false: "asynchronous"}[synchronous]
		return roles["primary"] == 1 && roles[standby] == 1
	})
}

// clusterPatience bounds a wait for the cluster: a failover takes half a minute, and the repair may need a new copy of the data.
const clusterPatience = 3 * time.Minute

// await waits until a condition of the cluster holds.
func (c *cluster) await(what string, holds func(ctx context.Context) bool) {
	ctx, cancel := context.WithTimeout(c.t.Context(), clusterPatience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !holds(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			c.t.Fatalf("waiting for %s took too long\n%s", what, c.logs())
		}
	}
}

// logs returns the ends of the nodes' logs.
func (c *cluster) logs() string {
	var text strings.Builder
	for _, n := range c.nodes {
		log, _ := os.ReadFile(filepath.Join(n.folder, "log"))
		fmt.Fprintf(&text, "--- %s:\n%s\n", n.name, log[max(0, len(log)-6000):])
	}
	return text.String()
}

// writeProbe is a write that waits for the standby like any other.
const writeProbe = "UPDATE probe SET number = number + 1"

// acknowledges waits until a node acknowledges a write, and returns when it did.
func (c *cluster) acknowledges(n *node) (at time.Time) {
	c.await("the new primary to accept writes", func(ctx context.Context) bool {
		pool := c.at(n, "postgres")
		defer func() { _ = pool.Close() }()
		_, err := pool.ExecContext(ctx, writeProbe)
		at = time.Now()
		return err == nil
	})
	return at
}

// promoted waits until a node is no standby any more.
func (c *cluster) promoted(n *node) {
	c.await("the standby to take over", func(ctx context.Context) bool {
		pool := c.at(n, "postgres")
		defer func() { _ = pool.Close() }()
		standby := true
		return pool.QueryRowContext(ctx, "SELECT pg_is_in_recovery()").Scan(&standby) == nil && !standby
	})
}

// patroniPID is the process of the node's Patroni.
func (n *node) patroniPID(t *testing.T) int {
	return readPID(t, filepath.Join(n.folder, "patroni.pid"))
}

// processes returns PostgreSQL's process, and those that it has started.
func (n *node) processes(t *testing.T) (all []int) {
	postmaster := readPID(t, filepath.Join(n.folder, "data", "postmaster.pid"))
	all = append(all, postmaster)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	require.NoError(t, err)
	for _, child := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(child)
		require.NoError(t, err)
		all = append(all, pid)
	}
	return all
}

func readPID(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
}

// signal sends a signal to processes of the cluster, the first one first. Some may have ended meanwhile.
func signal(signal syscall.Signal, pids ...int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// hold keeps the node's Patroni from being started again, until release.
func (n *node) hold(t *testing.T) {
	require.NoError(t, os.WriteFile(filepath.Join(n.folder, "held"), nil, 0o644))
}

func (n *node) release(t *testing.T) { require.NoError(t, os.Remove(filepath.Join(n.folder, "held"))) }
