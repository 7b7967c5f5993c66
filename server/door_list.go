package server

import "cmp"

// listedDoor is what the documents of the server say about a door that is open.
type listedDoor struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	// Path is on the REST port.
	Path string `json:"path"`
	// Page is the file of the repository that tells how to come in.
	Page string `json:"page"`
}

// protocolsOfDoors are the protocols that the doors speak, by their names.
var protocolsOfDoors = map[string]string{
	"mcp":           "Model Context Protocol",
	"c2a":           "Chat-to-Agents (C2A)",
	"agent-channel": "Agent Channel Protocol v2",
	"repomesh":      "RepoMesh Agent Communication Protocol",
}

// listDoors describes doors for those who look for a way in. It returns an empty list if there are none.
func listDoors(names []string) []listedDoor {
	listed := make([]listedDoor, 0, len(names))
	for _, name := range names {
		listed = append(listed, listedDoor{
			Name: name, Protocol: protocolsOfDoors[name], Path: pathOfDoor(name), Page: "docs/doors/" + name + ".md",
		})
	}
	return listed
}

// pathOfDoor returns the path of a door on the REST port.
func pathOfDoor(name string) string { return cmp.Or(widePaths[name], "/"+name) }
