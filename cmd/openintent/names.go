package main

import (
	"context"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// completionPatience is how long the shell waits for a server that completes names. A test gives a busy machine more.
var completionPatience = 2 * time.Second

// offered matches the names that completion offers. Others would mean something to the shell, and somebody else may
// have chosen them.
var offered = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,.-]+$`)

// names asks the server for the names of agents, channels or intents. It uses the connection that the line names, and
// has no names when the server does not answer.
func (p *place) names(kind string) (found []candidate) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer time.AfterFunc(completionPatience, cancel).Stop()
	_, tls := p.given["tls"]
	client, err := connection{
		Server: p.given["server"], APIKey: p.given["api-key"], Agent: p.given["agent"], TLS: tls,
		CAFile: p.given["ca-file"], Context: p.given["context"], Patience: time.Nanosecond, // one attempt
	}.dial(terminal{stderr: io.Discard})
	if err != nil {
		return nil
	}
	defer func() { _ = client.Close() }()
	switch kind {
	case "agents":
		found = agentNames(ctx, client)
	case "channels":
		found = channelNames(ctx, client, p.given["intent"])
	case "intents":
		found = intentNames(ctx, client)
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return !offered.MatchString(c.text) })
	for i := range found {
		found[i].help = escaped(found[i].help)
	}
	return found
}

func agentNames(ctx context.Context, client *openintent.Client) (found []candidate) {
	listed, err := called(client.Raw().Agents.ListAgents(ctx, &openintentv1.ListAgentsRequest{}))
	if err != nil {
		return nil
	}
	for _, agent := range listed.GetAgents() {
		found = append(found, candidate{agent.GetAgentId(), agent.GetRoleId()})
	}
	return found
}

// channelNames returns the names of an intent's open channels.
func channelNames(ctx context.Context, client *openintent.Client, intent string) (found []candidate) {
	if intent == "" {
		intent = os.Getenv("OPENINTENT_INTENT_ID")
	}
	if intent == "" {
		return nil
	}
	open := openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN
	listed, err := called(client.Raw().Channels.ListChannels(ctx, &openintentv1.ListChannelsRequest{IntentId: intent, Status: &open}))
	if err != nil {
		return nil
	}
	for _, channel := range listed.GetChannels() {
		found = append(found, candidate{channel.GetName(), word(channel.GetMemberPolicy())})
	}
	return found
}

func intentNames(ctx context.Context, client *openintent.Client) (found []candidate) {
	listed, err := called(client.Raw().Intents.ListIntents(ctx, &openintentv1.ListIntentsRequest{}))
	if err != nil {
		return nil
	}
	for _, intent := range listed.GetIntents() {
		found = append(found, candidate{intent.GetId(), intent.GetTitle()})
	}
	return found
}
