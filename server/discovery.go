package server

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// protocolVersion is the version of the coordination protocol that the server speaks.
const protocolVersion = "0.1"

// implementedRFCs are the RFCs that the server implements, in whole or in part.
var implementedRFCs = map[string]string{
	"0001": "full",    // intents and events
	"0002": "partial", // dependencies and hierarchy, without aggregation
	"0003": "partial", // leases, without governance and arbitration
	"0006": "partial", // server-sent events, without webhooks
	"0011": "partial", // access control lists, without access requests
	"0012": "partial", // tasks, without plans
	"0013": "partial", // coordinators, without failover
	"0016": "partial", // agent records and presence, without pools
	"0019": "partial", // the hash chain and its verification, without checkpoints
	"0020": "partial", // traces of events, without propagation to other systems
	"0021": "full",    // channels and messages
	"0025": "partial", // the suspended status
}

// capabilities are what the server can do, in the vocabulary of the discovery document.
var capabilities = []string{
	"intents", "events", "access-control", "tasks", "leases", "agents", "coordinators", "messaging", "server-sent-events",
}

// openDocuments returns the documents that the server publishes about itself, by path; reading them needs no key. doors are the names of
// those that are open, and console says whether there is one.
func openDocuments(version string, doors []string, console bool) (map[string]http.Handler, error) {
	rfcURLs := make([]string, 0, len(implementedRFCs))
	compliance := make(map[string]string, len(implementedRFCs))
	for _, number := range sortedKeys(implementedRFCs) {
		rfcURLs = append(rfcURLs, "/rfc/"+number)
		compliance["RFC-"+number] = implementedRFCs[number]
	}
	features := make(map[string]bool, len(capabilities))
	for _, capability := range capabilities {
		features[capability] = true
	}
	discovery, err := jsonDocument(map[string]any{
		"protocol":     "OpenIntent Coordination Protocol",
		"version":      protocolVersion,
		"rfcUrls":      rfcURLs,
		"capabilities": capabilities,
		"openApiUrl":   "/openapi.json",
		"doors":        listDoors(doors),
	})
	if err != nil {
		return nil, err
	}
	compatibility, err := jsonDocument(map[string]any{
		"implementation": "openintent",
		"version":        version,
		"rfcCompliance":  compliance,
		"features":       features,
	})
	if err != nil {
		return nil, err
	}
	return map[string]http.Handler{
		"/.well-known/openintent.json":        discovery,
		"/.well-known/openintent-compat.json": compatibility,
		"/openapi.json":                       lateDocument(sync.OnceValues(func() (document, error) { return apiDocument(doors) })),
		"/docs":                               document{"text/html; charset=utf-8", docsPage, alwaysAsked},
		"/":                                   entrance{console: console},
	}, nil
}

// serverConfig is what callers may know about the server's settings.
var serverConfig = document{"application/json", []byte(
	`{"protocol_version":"` + protocolVersion + `","suspension":{"default_retry_policy":null}}`,
), alwaysAsked}

// docsPage renders /openapi.json. It loads nothing from elsewhere.
//
//go:embed docs.html
var docsPage []byte

// document answers GET and HEAD with a text that never changes while the server runs.
type document struct {
	contentType string
	text        []byte
	// kept says how long clients may keep it, as Cache-Control.
	kept string
}

// alwaysAsked has clients ask each time whether they still have the document as it is.
const alwaysAsked = "no-cache"

// lateDocument is a document that takes so long to make that this waits until somebody asks for it.
type lateDocument func() (document, error)

func (d lateDocument) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	made, err := d()
	if err != nil {
		writeProblem(w, toStatus(err))
		return
	}
	made.ServeHTTP(w, r)
}

// entrance leads people to the console, if there is one, and everybody else to the documents.
type entrance struct{ console bool }

func (e entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuseMethod(w, http.MethodGet, http.MethodHead)
		return
	}
	// The way is relative, so that it is right behind a proxy that serves this under a path.
	way := "docs"
	if e.console && strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html") {
		way = "console"
	}
	w.Header().Set("Location", way)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Add("Vary", "Accept")
	w.WriteHeader(http.StatusFound)
}

func jsonDocument(value any) (document, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return document{}, fmt.Errorf("writing a discovery document: %w", err)
	}
	return document{"application/json", text, alwaysAsked}, nil
}

// ServeHTTP answers with the text.
func (d document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuseMethod(w, http.MethodGet, http.MethodHead)
		return
	}
	w.Header().Set("Content-Type", d.contentType)
	w.Header().Set("Cache-Control", d.kept)
	_, _ = w.Write(d.text)
}

func sortedKeys[V any](from map[string]V) []string { return slices.Sorted(maps.Keys(from)) }
