package server

import "net/http"

// servePage answers a request if it is for one of the console's pages, and reports whether it is. Reading them needs no key; what they show is
// read by calls that do.
func (g *gateway) servePage(w http.ResponseWriter, r *http.Request) bool {
	if g.pages == nil {
		return false
	}
	found := g.pages.Find(r.URL.EscapedPath())
	if found == nil {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuseMethod(w, http.MethodGet, http.MethodHead)
		return true
	}
	found.ServeHTTP(w, r)
	return true
}
