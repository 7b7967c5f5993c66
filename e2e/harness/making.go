package harness

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Making fills a server over REST, and remembers the ids of what it made.
type Making struct {
	*Server
	TB testing.TB
	// IDs are those of what was made, by the names that the test gives.
	IDs map[string]string
}

// NewMaking begins to fill a server.
func NewMaking(tb testing.TB, server *Server) *Making {
	return &Making{Server: server, TB: tb, IDs: make(map[string]string)}
}

// Call makes a call that must succeed. A name in braces stands for the id under it.
func (m *Making) Call(agent, method, path, body string, headers ...string) Answer {
	m.TB.Helper()
	var pairs []string
	for name, id := range m.IDs {
		pairs = append(pairs, "{"+name+"}", id)
	}
	filled := strings.NewReplacer(pairs...)
	answer := m.As(agent).REST(m.TB, method, "/v1/"+filled.Replace(path), filled.Replace(body), headers...)
	assert.Less(m.TB, answer.Status, 300, "%s %s: %s", method, path, answer.Body)
	return answer
}

// Make is Call for a POST whose answer has the id to remember.
func (m *Making) Make(name, agent, path, body string, headers ...string) {
	m.TB.Helper()
	var made struct {
		ID string `json:"id"`
	}
	m.Call(agent, "POST", path, body, headers...).Decode(m.TB, &made)
	assert.NotEmpty(m.TB, made.ID)
	m.IDs[name] = made.ID
}
