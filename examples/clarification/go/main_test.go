//go:build examples

package main

import (
	"errors"
	"testing"
	"time"

	openintent "openintent/sdk/go"
	"openintent/sdk/go/openintenttest"
)

// said returns what was said in the only intent of a server.
func said(t *testing.T, server *openintenttest.Server, wanted openintenttest.Match) []openintenttest.Said {
	t.Helper()
	intent, err := server.Client("").OpenIntent(t.Context(), openintent.IntentOptions{Title: "Research Q1 financials"})
	if err != nil {
		t.Fatal(err)
	}
	return server.Said(intent.ID, wanted)
}

func TestTheDataAgentAnswers(t *testing.T) {
	server := openintenttest.Start(t)
	server.Run(dataAgent(server.Client("data-agent")))
	channel, err := server.Client("research-agent").Open(t.Context(), server.Intent().ID, "data-clarification", openintent.ChannelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	response, err := channel.Ask(t.Context(), "data-agent", question{"Which schema?"})
	if err != nil || response.Payload["answer"] != "v2.3" {
		t.Fatal(response, err)
	}
}

func TestTheResearcherUsesWhatItHears(t *testing.T) {
	server := openintenttest.Start(t)
	server.Peer("data-agent", "").Answers(answer{Answer: "v9"})
	if err := research(t.Context(), server.Client("research-agent")); err != nil {
		t.Fatal(err)
	}
}

func TestTheResearcherDoesNotBeginWithoutAnAnswer(t *testing.T) {
	server := openintenttest.Start(t)
	peer := server.Peer("data-agent", "").StaysSilent()
	ended := make(chan error, 1)
	go func() { ended <- research(t.Context(), server.Client("research-agent")) }()
	peer.AssertHeard(nil)
	server.Advance(30 * time.Second)
	var late *openintent.MessageTimeoutError
	if err := <-ended; !errors.As(err, &late) {
		t.Fatal(err)
	}
	if begun := said(t, server, openintenttest.Match{Type: openintent.Broadcast}); len(begun) > 0 {
		t.Fatal(begun)
	}
}
