package main

import (
	"net"
	"os"
)

// tellSystemd tells the service manager that started the program, if one did, how it is (sd_notify). A manager that cannot be told
// finds out by itself.
func tellSystemd(state string) {
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return
	}
	_, _ = connection.Write([]byte(state))
	_ = connection.Close()
}
