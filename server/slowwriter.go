package server

import (
	"net/http"
	"time"
)

const (
	// writeTimeout is how long a client may take over writePiece bytes of an answer.
	writeTimeout = 30 * time.Second
	writePiece   = 256 << 10
)

// boundTimes bounds how long a client may take over a request's body and over each piece of the answer. What it bounds is
// the network alone: a call may wait as long as it likes before it answers.
func boundTimes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		// Where deadlines are not supported, as in a test's recorder, none is needed.
		if r.ContentLength != 0 {
			_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		writer := &slowWriter{ResponseWriter: w, control: control}
		if r.ProtoMajor == 1 { // A deadline of an earlier request may have passed. HTTP/2 has one for each stream, which would end it.
			writer.extend()
		}
		next.ServeHTTP(writer, r)
	})
}

// slowWriter gives each piece of an answer a deadline of its own. A client that takes no more is cut off.
type slowWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *slowWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }

// WriteHeader begins the answer.
func (w *slowWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write writes piece by piece.
func (w *slowWriter) Write(data []byte) (written int, err error) {
	for {
		piece := data[:min(len(data), writePiece)]
		w.extend()
		n, err := w.ResponseWriter.Write(piece)
		written += n
		if data = data[len(piece):]; err != nil || len(data) == 0 {
			return written, err
		}
	}
}

// Unwrap gives flushing and deadlines to http.ResponseController.
func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
