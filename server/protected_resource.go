package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
)

const (
	// mcpDoor is the name of the door that clients come to with tokens that they fetch themselves.
	mcpDoor = "mcp"
	// resourcePath is where RFC 9728 looks for the metadata of a resource. The path of the resource follows.
	resourcePath = "/.well-known/oauth-protected-resource"
	// resourceKept is how long a client may keep the metadata.
	resourceKept = "public, max-age=300"
)

// protectedResource is the door for MCP as OAuth sees it. It tells clients without a key which issuer has tokens for the door: in a
// document that needs no key (RFC 9728), and in the answer to whoever may not come in. A nil protectedResource tells nothing.
//
// The door's address is OPENINTENT_PUBLIC_URL. The Host of a request is no source of it: a client asks the issuer for a token for
// this address, and an address that others can choose would lead the token to them. There is one exception, without which nobody
// could try it at home: on a port on loopback, where no public address is set, the Host counts if it is a name of this machine. Then
// it has passed ownNames, and whoever believes it reaches his own machine and nothing else.
type protectedResource struct {
	issuer string
	scopes []string
	// public is the server's public address; empty if none is set.
	public string
	// paths are where the metadata is.
	paths []string
	// loopback is true if only this machine reaches the port.
	loopback bool
	// door knows which tools an address may ask for.
	door interface{ HasTools(asked []string) bool }
}

// resourceMetadata is what RFC 9728 has clients read.
type resourceMetadata struct {
	Resource      string   `json:"resource"`
	Issuers       []string `json:"authorization_servers"`
	Scopes        []string `json:"scopes_supported,omitempty"`
	Methods       []string `json:"bearer_methods_supported"`
	Name          string   `json:"resource_name"`
	Documentation string   `json:"resource_documentation"`
}

// newProtectedResource returns nil if there is no issuer, or no door to which its tokens could be brought.
func newProtectedResource(cfg Config, doors map[string]openDoor) *protectedResource {
	through, open := doors[pathOfDoor(mcpDoor)]
	knows, able := through.door.(interface{ HasTools(asked []string) bool })
	if cfg.OIDCIssuer == "" || !open || !able {
		return nil
	}
	p := &protectedResource{issuer: cfg.OIDCIssuer, scopes: cfg.oidcScopes(), public: cfg.publicAddress(), door: knows}
	// RFC 9728 puts the path of the public address behind its own. A proxy that passes on what lies below that path takes it away.
	p.paths = []string{resourcePath, resourcePath + through.path, resourcePath + cfg.publicPath() + through.path}
	return p
}

// listens is told whether only this machine reaches the port, before it serves.
func (p *protectedResource) listens(loopback bool, logger *slog.Logger) {
	if p == nil {
		return
	}
	p.loopback = loopback
	if p.public == "" && !loopback {
		logger.Info("clients of the door for MCP are not told which issuer has tokens, because the server does not know its own " +
			"address; OPENINTENT_PUBLIC_URL can name it")
	}
}

// serve answers a request for the metadata, and reports whether it is one.
func (p *protectedResource) serve(w http.ResponseWriter, r *http.Request) bool {
	if p == nil || !slices.Contains(p.paths, r.URL.EscapedPath()) {
		return false
	}
	address, resource := p.located(r)
	if address == "" {
		return false
	}
	text, err := json.Marshal(resourceMetadata{
		Resource: address + resource, Issuers: []string{p.issuer}, Scopes: p.scopes,
		Methods: []string{"header"}, Name: "openintent", Documentation: address + "/docs",
	})
	if err != nil {
		writeProblem(w, toStatus(err))
		return true
	}
	document{"application/json", text, resourceKept}.ServeHTTP(w, r)
	return true
}

// challenge returns what the door says to a client that has not proved who it is, or nothing if it says only what all of the server does.
func (p *protectedResource) challenge(r *http.Request) string {
	if p == nil {
		return ""
	}
	address, resource := p.located(r)
	if address == "" {
		return ""
	}
	return bearerChallenge + `, resource_metadata="` + address + resourcePath + resource + `"`
}

// located returns the address of the server for the client of a request, and where the resource is behind it: the door, with the tools
// that the client asks for. Clients compare all of it with the address that they were given. The address is empty if none is known, or
// if there are no such tools.
func (p *protectedResource) located(r *http.Request) (address, resource string) {
	asked := r.URL.Query()["tools"]
	if !p.door.HasTools(asked) {
		return "", ""
	}
	resource = pathOfDoor(mcpDoor)
	if len(asked) > 0 && asked[0] != "" {
		resource += "?" + url.Values{"tools": asked}.Encode()
	}
	return ownAddress(p.public, p.loopback, r), resource
}

// ownAddress returns the address of the server for the client of a request: the public one or, on a port on loopback, the one by which the
// client has come. It returns nothing if none is known.
func ownAddress(public string, loopback bool, r *http.Request) string {
	switch {
	case public != "":
		return public
	case !loopback || !thisMachine.MatchString(r.Host):
		return ""
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// thisMachine is the form of a Host that can only mean this machine.
var thisMachine = regexp.MustCompile(`^(?i:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$`)
