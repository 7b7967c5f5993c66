package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// restFace is an agent that uses REST, and server-sent events for streams.
type restFace struct {
	t *testing.T
	*harness.Caller
	http *http.Client
}

// call makes a call and reads its answer; it returns nil when the call was not refused.
func (f restFace) call(method, path string, body, into any, headers ...string) *refusal {
	text := ""
	if body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(f.t, err)
		text = string(encoded)
	}
	answer := f.REST(f.t, method, path, text, headers...)
	if answer.Status < 300 {
		answer.Decode(f.t, into)
		return nil
	}
	refusal := new(refusal)
	answer.Decode(f.t, refusal)
	return refusal
}

// must makes a call that must not be refused.
func (f restFace) must(method, path string, body, into any, headers ...string) {
	require.Nil(f.t, f.call(method, path, body, into, headers...), "%s %s", method, path)
}

// made is something that has an id.
type made struct {
	ID      string `json:"id"`
	State   object `json:"state"`
	Version int64  `json:"version"`
}

func (f restFace) createIntent(title string) string {
	var intent made
	f.must("POST", "/v1/intents", object{"title": title, "status": "active"}, &intent)
	return intent.ID
}

func (f restFace) createChannel(intentID, name string, audit bool, members ...string) string {
	body := object{"name": name, "options": object{"audit": audit}}
	if len(members) > 0 {
		body["members"], body["member_policy"] = members, "explicit"
	}
	var channel made
	f.must("POST", "/v1/intents/"+intentID+"/channels", body, &channel)
	return channel.ID
}

func (f restFace) send(channelID string, m message) (sent message, no *refusal) {
	no = f.call("POST", "/v1/channels/"+channelID+"/messages", m, &sent)
	return sent, no
}

func (f restFace) sendByName(intentID, name string, m message) (sent message, no *refusal) {
	no = f.call("POST", "/v1/intents/"+intentID+"/channels/"+url.PathEscape(name)+"/messages", m, &sent)
	return sent, no
}

func (f restFace) ask(channelID, to string, payload object, seconds float64) (answer message, no *refusal) {
	body := object{"to": to, "payload": payload, "timeout_seconds": seconds}
	no = f.call("POST", "/v1/channels/"+channelID+"/ask", body, &answer)
	return answer, no
}

func (f restFace) reply(channelID, requestID string, payload object) (sent message, no *refusal) {
	no = f.call("POST", "/v1/channels/"+channelID+"/messages/"+requestID+"/reply", object{"payload": payload}, &sent)
	return sent, no
}

func (f restFace) list(channelID, since string) (messages []message, no *refusal) {
	path := "/v1/channels/" + channelID + "/messages"
	if since != "" {
		path += "?since=" + since
	}
	no = f.call("GET", path, nil, &messages)
	return messages, no
}

func (f restFace) markRead(channelID, messageID string) (read message) {
	f.must("PATCH", "/v1/channels/"+channelID+"/messages/"+messageID, object{"status": "read"}, &read)
	return read
}

func (f restFace) follow(ctx context.Context, channelID string, after int64) <-chan delivery {
	request, err := f.Request(ctx, "GET", "/v1/subscribe/channels/"+channelID, "")
	require.NoError(f.t, err)
	request.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	response, err := f.http.Do(request) //nolint:bodyclose // the goroutine below closes it
	require.NoError(f.t, err)
	require.Equal(f.t, 200, response.StatusCode)
	deliveries := make(chan delivery)
	go func() {
		defer close(deliveries)
		defer response.Body.Close()
		var d delivery
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				d.position, _ = strconv.ParseInt(value, 10, 64)
			case "data":
				if json.Unmarshal([]byte(value), &d.message) != nil {
					return
				}
			case "":
				if d.ID == "" {
					continue // the end of a comment
				}
				select {
				case deliveries <- d:
				case <-ctx.Done():
					return
				}
				d = delivery{}
			}
		}
	}()
	return deliveries
}

func (f restFace) state(intentID string) (object, int64) {
	var intent made
	f.must("GET", "/v1/intents/"+intentID, nil, &intent)
	return intent.State, intent.Version
}

func (f restFace) completeIntent(intentID string) {
	_, version := f.state(intentID)
	f.must("POST", "/v1/intents/"+intentID+"/status", object{"status": "completed"}, new(made), "If-Match", fmt.Sprintf(`"%d"`, version))
}

func (f restFace) events(intentID string) (events []event) {
	f.must("GET", "/v1/intents/"+intentID+"/events?order=asc", nil, &events)
	return events
}

func (f restFace) verifies(intentID string) bool {
	var verified struct {
		Valid bool `json:"chain_valid"`
	}
	f.must("GET", "/v1/intents/"+intentID+"/events/verify", nil, &verified)
	return verified.Valid
}

func (f restFace) channel(channelID string) (c channel) {
	f.must("GET", "/v1/channels/"+channelID, nil, &c)
	return c
}
