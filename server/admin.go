package server

import (
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"openintent/internal/fault"
)

var errNotAdmin = fault.New(fault.NotFound, "ROUTE_NOT_FOUND", "There is nothing at this path of the admin address; / lists what there is.")

// profiles is the path below which the admin address serves the profiles of the Go runtime.
const profiles = "/debug/pprof/"

// newAdminHandler makes the handler of the admin address: health and metrics as on the REST port, and profiles. It leaves out the
// runtime's cmdline, because a command line may hold keys.
func newAdminHandler(health map[string]http.Handler) http.Handler {
	own := maps.Clone(health)
	own[profiles+"profile"] = http.HandlerFunc(pprof.Profile)
	own[profiles+"trace"] = http.HandlerFunc(pprof.Trace)
	own[profiles+"symbol"] = http.HandlerFunc(pprof.Symbol)
	for _, name := range []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		own[profiles+name] = pprof.Handler(name)
	}
	paths := strings.Join(slices.Sorted(maps.Keys(own)), "\n") + "\n"
	own["/"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(paths))
	})
	return newHTTPHandler(own, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, toStatus(errNotAdmin))
	}))
}
