package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// timedWriter records what is written and which deadlines are set.
type timedWriter struct {
	*httptest.ResponseRecorder
	reads, writes []time.Time
	pieces        []int
}

func (w *timedWriter) SetReadDeadline(at time.Time) error {
	w.reads = append(w.reads, at)
	return nil
}

func (w *timedWriter) SetWriteDeadline(at time.Time) error {
	w.writes = append(w.writes, at)
	return nil
}

func (w *timedWriter) Write(data []byte) (int, error) {
	w.pieces = append(w.pieces, len(data))
	return w.ResponseRecorder.Write(data)
}

func TestEachPieceOfAnAnswerHasADeadline(t *testing.T) {
	w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
	answer := strings.Repeat("x", 2*writePiece+1)
	began := time.Now()
	boundTimes(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(answer))
	})).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("body")))
	require.Equal(t, answer, w.Body.String())
	require.Equal(t, []int{writePiece, writePiece, 1}, w.pieces)
	require.Len(t, w.writes, 4, "one for the beginning, one for each piece")
	require.Len(t, w.reads, 1)
	for _, deadline := range append(w.reads, w.writes...) {
		require.WithinRange(t, deadline, began.Add(min(bodyTimeout, writeTimeout)), time.Now().Add(max(bodyTimeout, writeTimeout)))
	}
}
