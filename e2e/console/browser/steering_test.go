//go:build console

package browser

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// steering is what a script asks of its test by name while it looks at a page. What an act returns is the answer.
type steering map[string]func(r *http.Request) (any, error)

// serve takes the script's calls until the test ends, and returns the setting that tells a script where.
func (s steering) serve(t *testing.T) string {
	t.Helper()
	asked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		act, known := s[r.URL.Path[1:]]
		if !known {
			http.Error(w, "the test does not know how to "+r.URL.Path[1:], http.StatusNotFound)
			return
		}
		answer, err := act(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(asked.Close)
	return "STEERING=" + asked.URL
}
