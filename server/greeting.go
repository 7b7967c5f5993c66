package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"openintent/internal/fault"
)

const (
	// greeting is how every client of gRPC begins (RFC 9113, section 3.4).
	greeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// Of the request of a client that was answered, strayBytes are read for at most strayTimeout, so that the answer is
	// not lost in a reset.
	strayBytes   = 64 << 10
	strayTimeout = time.Second
)

var errStray = errors.New("the client speaks HTTP/1 and was told where REST is")

// strayAnswer is what the gRPC port answers to HTTP/1; restAddress is where REST listens. The address itself is named on
// this machine only; other machines may know the server under any other.
func strayAnswer(restAddress net.Addr, encrypted bool) []byte {
	_, port, _ := net.SplitHostPort(restAddress.String())
	place := "port " + port + " of this server"
	if isLoopback(restAddress.String()) {
		scheme := "http"
		if encrypted {
			scheme = "https"
		}
		place = scheme + "://" + restAddress.String()
	}
	refusal := newProblem(toStatus(fault.New(fault.Invalid, "NOT_REST", "This port speaks gRPC only; REST is at %s.", place)))
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
		refusal.status, http.StatusText(refusal.status), len(refusal.body), refusal.body)
}

// answerStray answers a client that speaks HTTP/1 and returns errStray. It waits for the first bytes and takes none of
// them away from gRPC. Like the rest of a handshake, it must be done within connectTimeout.
func answerStray(raw net.Conn, answer []byte) error {
	tcp, ok := raw.(*net.TCPConn)
	if !ok || answer == nil {
		return nil
	}
	if begun := peek(tcp, len(greeting)); begun == "" || !isHTTP1(begun) {
		return nil // gRPC itself refuses what is neither.
	}
	_ = tcp.SetDeadline(time.Now().Add(strayTimeout))
	if _, err := tcp.Write(answer); err == nil {
		_ = tcp.CloseWrite()
		_, _ = io.CopyN(io.Discard, tcp, strayBytes)
	}
	return errStray
}

// isHTTP1 reports whether a connection begins with a method and not with gRPC's greeting.
func isHTTP1(begun string) bool {
	first := begun[0]
	return first >= 'A' && first <= 'Z' && !strings.HasPrefix(greeting, begun)
}
