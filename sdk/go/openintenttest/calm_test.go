package openintenttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintent "openintent/sdk/go"
)

var noon = time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)

// asked is a question of the agent, changed by a function, that ends after noon.
func asked(changes ...func(*openintent.Message)) Said {
	message := &openintent.Message{
		ID: "1", Sender: "lead", MessageType: openintent.Request, Status: openintent.Delivered, ExpiresAt: noon.Add(500 * time.Millisecond),
	}
	for _, change := range changes {
		change(message)
	}
	return Said{Message: message}
}

func answer(to string) Said {
	return Said{Message: &openintent.Message{ID: "answer", Sender: "builder", MessageType: openintent.Response, CorrelationID: to}}
}

func collects(collect openintent.Collect) func(*openintent.Message) {
	return func(m *openintent.Message) { m.Collect = collect }
}

func TestWhoAwaitsAnAnswer(t *testing.T) {
	again := asked(func(m *openintent.Message) { m.ID = "2" })
	over := func(m *openintent.Message) { m.ExpiresAt = noon }
	for says, row := range map[string]struct {
		messages []Said
		awaits   bool
	}{
		"nothing was said":                           {},
		"it has asked":                               {[]Said{asked()}, true},
		"it has asked a role":                        {[]Said{asked(collects("one"), func(m *openintent.Message) { m.To = "role:builder" })}, true},
		"another question was answered":              {[]Said{asked(), answer("2")}, true},
		"its question was answered":                  {[]Said{asked(), answer("1")}, false},
		"it has asked again":                         {[]Said{asked(), answer("1"), again}, true},
		"any answer will do":                         {[]Said{asked(collects("any")), answer("1")}, false},
		"one answer will do":                         {[]Said{asked(collects("one")), answer("1")}, false},
		"one of two answers came":                    {[]Said{asked(collects(openintent.CollectQuorum(2))), answer("1")}, true},
		"two of two answers came":                    {[]Said{asked(collects(openintent.CollectQuorum(2))), answer("1"), answer("1")}, false},
		"it collects answers until its time is over": {[]Said{asked(collects("all")), answer("1"), answer("1")}, true},
		"the time of collecting is over":             {[]Said{asked(collects("all"), over), answer("1")}, false},
		"the time of its question is over":           {[]Said{asked(over)}, false},
		"its question was withdrawn":                 {[]Said{asked(func(m *openintent.Message) { m.Status = openintent.Expired })}, false},
		"it goes on without an answer":               {[]Said{asked(func(m *openintent.Message) { m.ExpiresAt = time.Time{} })}, false},
		"somebody else has asked":                    {[]Said{asked(func(m *openintent.Message) { m.Sender = "other" })}, false},
		"it has told something":                      {[]Said{asked(func(m *openintent.Message) { m.MessageType = openintent.Notify })}, false},
	} {
		t.Run(says, func(t *testing.T) { require.Equal(t, row.awaits, awaitsAnAnswer("lead", row.messages, noon)) })
	}
}

func TestWhoIsCalm(t *testing.T) {
	for says, row := range map[string]struct {
		atWork      bool
		messages    []Said
		timeMayPass bool
		isCalm      bool
	}{
		"it has nothing to do":                 {timeMayPass: true, isCalm: true},
		"it is at work":                        {atWork: true, timeMayPass: true},
		"it awaits an answer":                  {true, []Said{asked()}, true, true},
		"it works with the answer":             {true, []Said{asked(), answer("1")}, true, false},
		"it awaits an answer that cannot come": {true, []Said{asked()}, false, false},
	} {
		t.Run(says, func(t *testing.T) {
			c := calm{agent: "lead", timeMayPass: row.timeMayPass}
			require.False(t, c.isReached(noon, row.atWork, row.messages, noon))
			require.False(t, c.isReached(noon.Add(149*time.Millisecond), row.atWork, row.messages, noon))
			require.Equal(t, row.isCalm, c.isReached(noon.Add(150*time.Millisecond), row.atWork, row.messages, noon))
		})
	}
}

func TestWhoSaysSomethingIsNotCalmYet(t *testing.T) {
	again := asked(func(m *openintent.Message) { m.ID = "2" })
	others := asked(func(m *openintent.Message) { m.ID, m.Sender = "3", "other" })
	c := calm{agent: "lead", timeMayPass: true}
	require.False(t, c.isReached(noon, true, []Said{asked()}, noon))
	require.False(t, c.isReached(noon.Add(time.Second), true, []Said{asked(), again}, noon))
	require.True(t, c.isReached(noon.Add(2*time.Second), true, []Said{asked(), again, others}, noon))
}
