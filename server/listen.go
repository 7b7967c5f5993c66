package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// silentClient is how long a client may leave sent data unacknowledged before its connection is given up. An event
// stream sends a comment every few seconds, so the server soon notices a client that vanished without a word.
const silentClient = 30 * time.Second

// listeners are the ports of a server; admin is nil if there is no admin address.
type listeners struct{ http, grpc, admin net.Listener }

// listen opens the ports: all of them or none.
func (c Config) listen(ctx context.Context) (opened listeners, err error) {
	config := net.ListenConfig{Control: giveUpSilentClients}
	for _, port := range []struct {
		name, address, flag string
		listener            *net.Listener
	}{
		{"REST", c.HTTPAddr, "--http-addr", &opened.http}, {"gRPC", c.GRPCAddr, "--grpc-addr", &opened.grpc},
		{"admin", c.AdminAddr, "--admin-addr", &opened.admin},
	} {
		if port.listener == &opened.admin && port.address == "" {
			continue
		}
		if *port.listener, err = config.Listen(ctx, "tcp", port.address); err != nil {
			opened.close()
			if errors.Is(err, syscall.EADDRINUSE) {
				return listeners{}, fmt.Errorf("the %s port cannot be opened: a program, perhaps another server, listens at %s already;"+
					" end it, or choose another address with %s", port.name, port.address, port.flag)
			}
			return listeners{}, fmt.Errorf("the %s port cannot be opened: %w", port.name, err)
		}
	}
	return opened, nil
}

// tryPorts finds out whether the ports can be opened, before a database is made or changed for a server that then cannot answer.
// It does not keep them: while the database is brought up to date, clients shall be refused and not wait.
func (c Config) tryPorts(ctx context.Context) error {
	opened, err := c.listen(ctx)
	opened.close()
	return err
}

func (l listeners) close() {
	for _, listener := range []net.Listener{l.http, l.grpc, l.admin} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

// addresses are those of the open ports.
func (l listeners) addresses(development bool) Addresses {
	found := Addresses{HTTP: l.http.Addr().String(), GRPC: l.grpc.Addr().String(), DevelopmentKey: development}
	if l.admin != nil {
		found.Admin = l.admin.Addr().String()
	}
	return found
}
