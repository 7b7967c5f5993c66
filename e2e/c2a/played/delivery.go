package played

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// Delivery is one chat/deliver.
type Delivery struct {
	// ID is the request's.
	ID     any
	Params object
	// Text is Params as they came.
	Text string
}

// AsDelivery reads a request as a delivery, and holds it to its draft's schema.
func (s *Harness) AsDelivery(t *testing.T, f Frame) Delivery {
	t.Helper()
	require.Equal(t, "chat/deliver", f.Method, "%s", f.Params)
	d := Delivery{ID: f.ID, Text: string(f.Params)}
	require.NoError(t, json.Unmarshal(f.Params, &d.Params))
	require.NoError(t, schemaOf(t, s.draft).Validate(d.Params), "%s", f.Params)
	require.Equal(t, "deliver-"+d.Event(), d.ID)
	return d
}

// Event returns the id of what is delivered.
func (d Delivery) Event() string {
	id, _ := d.Params["eventId"].(string)
	return id
}

// At returns a value in a delivery by its path, such as "injection.mode".
func (d Delivery) At(path string) any {
	var value any = d.Params
	for _, name := range strings.Split(path, ".") {
		members, _ := value.(object)
		value = members[name]
	}
	return value
}

// Holds checks values in a delivery by their paths.
func (d Delivery) Holds(t *testing.T, expected object) {
	t.Helper()
	for path, value := range expected {
		require.Equal(t, value, d.At(path), path)
	}
}

// Content returns the texts of a delivery.
func (d Delivery) Content() (texts []string) {
	if alone, isText := d.Params["content"].(string); isText {
		return []string{alone}
	}
	parts, _ := d.Params["content"].([]any)
	for _, part := range parts {
		text, _ := part.(object)["text"].(string)
		texts = append(texts, text)
	}
	return texts
}

var schemas sync.Map

// schemaOf returns the schema of a draft's deliveries.
func schemaOf(t *testing.T, draft string) *jsonschema.Resolved {
	t.Helper()
	if known, ok := schemas.Load(draft); ok {
		return known.(*jsonschema.Resolved)
	}
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../doors/c2a/schema", draft+".json"))
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	schemas.Store(draft, resolved)
	return resolved
}
