package server

import "net"

// newPlainConnection returns the connection as it is: Windows has no way to wait for data without a buffer.
func newPlainConnection(c *connection) net.Conn { return c }
