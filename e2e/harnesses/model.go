package harnesses

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Turn is one request of a harness to its model.
type Turn struct {
	At time.Time
	// Prompt is what the user said, of what the model has a play for.
	Prompt string
	// Steps are the calls of the door's tools since then.
	Steps []Step
}

// Model stands in for the models of all makers, at one address.
type Model struct {
	URL string
	// Keep gets each request, unless it is nil.
	Keep func(path string, request []byte)

	// Think is called before the model decides, unless it is nil. Models take their time, and harnesses end a run whose model does the same
	// again and again without any.
	Think func(Turn)

	plays map[string]Play

	mutex   sync.Mutex
	turns   []Turn
	changed chan struct{} // closed at the next turn
}

// NewModel starts a model that knows what to do after the sentences of its plays.
func NewModel(tb testing.TB, plays map[string]Play) *Model {
	tb.Helper()
	m := &Model{plays: plays, changed: make(chan struct{})}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /v1/chat/completions", dialect(m, readChat, writeChat))
	routes.HandleFunc("POST /v1/responses", dialect(m, readResponses, writeResponses))
	routes.HandleFunc("POST /v1beta/models/{call}", dialect(m, readGemini, writeGemini))
	served := httptest.NewServer(routes)
	tb.Cleanup(served.Close)
	m.URL = served.URL
	return m
}

// dialect serves one maker's protocol: it reads a request and writes what the model does next.
func dialect[R any](m *Model, read func(R) conversation, write func(http.ResponseWriter, *http.Request, R, move)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the harness has gone
		}
		if m.Keep != nil {
			m.Keep(r.URL.Path, body)
		}
		var request R
		if err := json.Unmarshal(body, &request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		write(w, r, request, m.next(read(request)))
	}
}

// next notes a turn and decides what comes next. Harnesses also ask models for titles and judgements: such a request has none of the
// door's tools, and whatever is said is good enough.
func (m *Model) next(c conversation) move {
	prompt, steps := c.turn(func(said string) bool { return m.play(said) != nil })
	turn := Turn{At: time.Now(), Prompt: prompt, Steps: steps}
	m.note(turn)
	if m.Think != nil {
		m.Think(turn)
	}
	play := m.play(prompt)
	if play == nil {
		return move{say: "I have nothing to do."}
	}
	if len(steps) > mostSteps {
		return move{say: "I give up: the turn has too many steps."}
	}
	next := play(steps)
	if next.tool == "" {
		return next
	}
	return c.call(next)
}

func (m *Model) play(said string) Play {
	for sentence, play := range m.plays {
		if strings.Contains(said, sentence) {
			return play
		}
	}
	return nil
}

func (m *Model) note(t Turn) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.turns = append(m.turns, t)
	close(m.changed)
	m.changed = make(chan struct{})
}

// Await returns the first turn that fits, once there is one, and false if the harness ended before.
func (m *Model) Await(ended <-chan struct{}, fits func(Turn) bool) (Turn, bool) {
	for seen, last := 0, false; ; {
		m.mutex.Lock()
		turns, changed := m.turns, m.changed
		m.mutex.Unlock()
		for ; seen < len(turns); seen++ {
			if fits(turns[seen]) {
				return turns[seen], true
			}
		}
		if last {
			return Turn{}, false
		}
		select {
		case <-changed:
		case <-ended:
			last = true
		}
	}
}

// send writes the events of a stream.
func send(w http.ResponseWriter, events ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		text, ok := event.(string)
		if !ok {
			text = encode(event)
		}
		if named, ok := event.(object); ok && named["type"] != nil {
			_, _ = fmt.Fprintf(w, "event: %s\n", named["type"])
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
	}
}

// object is an object of JSON.
type object = map[string]any

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // only values that the model made itself come here
	}
	return string(text)
}

func sendObject(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, encode(value))
}

// textOf returns the text of content, which is a text or a list of parts, or whatever it is as JSON.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(content, &parts) != nil {
		return string(content)
	}
	var all []string
	for _, part := range parts {
		all = append(all, part.Text)
	}
	return strings.Join(all, "\n")
}
