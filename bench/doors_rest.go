package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server"
)

// openDictatable opens a channel with an address, and returns the address.
func (t *target) openDictatable(ctx context.Context) (string, error) {
	intent, err := openintentv1.NewIntentServiceClient(t.conn).CreateIntent(as(ctx, asker), &openintentv1.CreateIntentRequest{Title: "bench"})
	if err != nil {
		return "", err
	}
	channel, err := t.openOn(ctx, intent.GetId(), true)
	return channel.GetAddress(), err
}

// openOnMesh opens a channel on RepoMesh's mesh, which the first list brings about, and returns the channel's name.
func (t *target) openOnMesh(ctx context.Context) (string, error) {
	if err := t.request(ctx, asker, http.MethodGet, "/v1/repomesh/events", nil, http.StatusOK); err != nil {
		return "", err
	}
	channel, err := t.openOn(ctx, "repomesh", false)
	return channel.GetName(), err
}

// openOn opens a channel of an intent that lists every message.
func (t *target) openOn(ctx context.Context, intent string, dictatable bool) (*openintentv1.Channel, error) {
	return openintentv1.NewChannelServiceClient(t.conn).CreateChannel(as(ctx, asker), &openintentv1.CreateChannelRequest{
		IntentId: intent, Name: "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36), Dictatable: dictatable,
		Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(keepAll)},
	})
}

// eventSender posts events to a channel at its address. The door lets one agent make 8 requests at a
// time, so several agents send.
func (t *target) eventSender(address string) func(context.Context) (worker, error) {
	return t.poster("/agent-channel/"+address+"/event", `{"kind":"comms","payload":{"question":"`+text+`","attempt":1}}`)
}

// meshSender logs events on a channel of the mesh.
func (t *target) meshSender(channel string) func(context.Context) (worker, error) {
	return t.poster("/v1/repomesh/events", `{"channel":"`+channel+`","payload":{"to":"all","content":"`+text+`"}}`)
}

// posters is how many agents post in turn.
const posters = 64

// poster posts a body again and again, as one agent after the other.
func (t *target) poster(path, body string) func(context.Context) (worker, error) {
	return func(context.Context) (worker, error) {
		return func(ctx context.Context, n int) error {
			return t.request(ctx, asker+"-"+strconv.Itoa(n%posters), http.MethodPost, path, []byte(body), http.StatusCreated)
		}, nil
	}
}

// request makes a request as an agent and reads the answer to its end.
func (t *target) request(ctx context.Context, agent, method, path string, body []byte, want int) error {
	request, err := http.NewRequestWithContext(ctx, method, t.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-API-Key", server.DevelopmentKey)
	request.Header.Set("X-Agent-ID", agent)
	response, err := t.rest.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != want {
		return fmt.Errorf("%s %s was answered with %s: %s", method, path, response.Status, said)
	}
	return nil
}
