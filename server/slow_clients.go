package server

import (
	"net/http"
	"time"
)

const (
	// writeTimeout is how long a client may take to read writePiece bytes of an answer.
	writeTimeout = 30 * time.Second
	writePiece   = 256 << 10
)

// boundTimes bounds how long a client may take to send a request's body and to read each piece of the answer. It
// bounds the network alone: a call may wait as long as it likes before it answers.
func boundTimes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		// Where deadlines are not supported, as in a test's recorder, none is needed.
		if r.ContentLength != 0 {
			_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		writer := &slowWriter{ResponseWriter: w, control: control}
		if r.ProtoMajor == 1 { // An earlier request's deadline may have passed. HTTP/2 has one for each stream; setting it would end the stream.
			writer.extend()
		}
		next.ServeHTTP(writer, r)
	})
}

// slowWriter sets a deadline for each piece of an answer. A client that stops reading is cut off.
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

// Unwrap lets http.ResponseController flush and set deadlines.
func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
