package main

import (
	"cmp"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// paged is a server each of whose lists has two entries, on two pages. The agent is a, and its channel is called last.
type paged struct {
	openintentv1.UnimplementedAgentServiceServer
	openintentv1.UnimplementedChannelServiceServer
	openintentv1.UnimplementedEventServiceServer
	openintentv1.UnimplementedIntentServiceServer
	openintentv1.UnimplementedInviteServiceServer
	openintentv1.UnimplementedKeyServiceServer
	openintentv1.UnimplementedMessageServiceServer
	openintentv1.UnimplementedObligationServiceServer
	openintentv1.UnimplementedReactionServiceServer
	openintentv1.UnimplementedSearchServiceServer

	// version is that of the intent, and changes is how often somebody else changes the intent before a call does.
	version, changes atomic.Int64
}

// servePages serves a paged until the test ends, and returns what runs a command there.
func servePages(t *testing.T) (*paged, func(arguments ...string) outcome) {
	t.Helper()
	clearEnvironment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p, server := &paged{}, grpc.NewServer()
	openintentv1.RegisterAgentServiceServer(server, p)
	openintentv1.RegisterChannelServiceServer(server, p)
	openintentv1.RegisterEventServiceServer(server, p)
	openintentv1.RegisterIntentServiceServer(server, p)
	openintentv1.RegisterInviteServiceServer(server, p)
	openintentv1.RegisterKeyServiceServer(server, p)
	openintentv1.RegisterMessageServiceServer(server, p)
	openintentv1.RegisterObligationServiceServer(server, p)
	openintentv1.RegisterReactionServiceServer(server, p)
	openintentv1.RegisterSearchServiceServer(server, p)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return p, func(arguments ...string) outcome {
		return at(t, "", append(arguments, "--server", listener.Addr().String(), "--agent", "a")...)
	}
}

// leaf returns an entry, and the cursor of the second page on the first.
func leaf[T any](cursor *string, first, last T) ([]T, *string) {
	if cursor == nil {
		return []T{first}, new("2")
	}
	return []T{last}, nil
}

// said is a message of the channel last.
func said(id string) *openintentv1.Message {
	return &openintentv1.Message{
		Id: id, ChannelId: "chan_01M7YCHKJ11MAM2FWJ1DX9NJHS", Sender: "b", MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY,
		CreatedAt: timestamppb.Now(),
	}
}

func (p *paged) WhoAmI(context.Context, *openintentv1.WhoAmIRequest) (*openintentv1.WhoAmIResponse, error) {
	return &openintentv1.WhoAmIResponse{AgentId: "a"}, nil
}

func (p *paged) ListAgents(_ context.Context, req *openintentv1.ListAgentsRequest) (*openintentv1.ListAgentsResponse, error) {
	response := &openintentv1.ListAgentsResponse{}
	response.Agents, response.NextCursor = leaf(req.Cursor,
		&openintentv1.Agent{AgentId: "first"}, &openintentv1.Agent{AgentId: "last", RoleId: new("builder")})
	return response, nil
}

func (p *paged) ListRefusedSenders(
	_ context.Context, req *openintentv1.ListRefusedSendersRequest,
) (*openintentv1.ListRefusedSendersResponse, error) {
	response := &openintentv1.ListRefusedSendersResponse{}
	response.Refused, response.NextCursor = leaf(req.Cursor,
		&openintentv1.RefusedSender{Sender: "first"}, &openintentv1.RefusedSender{Sender: "last"})
	return response, nil
}

func (p *paged) ListChannels(_ context.Context, req *openintentv1.ListChannelsRequest) (*openintentv1.ListChannelsResponse, error) {
	response := &openintentv1.ListChannelsResponse{}
	response.Channels, response.NextCursor = leaf(req.Cursor,
		&openintentv1.Channel{Id: "chan_01M7YCHKJ0000000000000000A", Name: "first"},
		&openintentv1.Channel{Id: said("").GetChannelId(), Name: "last"})
	return response, nil
}

func (p *paged) ListEvents(_ context.Context, req *openintentv1.ListEventsRequest) (*openintentv1.ListEventsResponse, error) {
	response := &openintentv1.ListEventsResponse{}
	response.Events, response.NextCursor = leaf(req.Cursor, // the newest first
		&openintentv1.Event{Sequence: 7, EventType: "comment"}, &openintentv1.Event{Sequence: 3, EventType: "comment"})
	response.Bounded = response.NextCursor != nil
	return response, nil
}

func (p *paged) GetIntent(_ context.Context, req *openintentv1.GetIntentRequest) (*openintentv1.Intent, error) {
	return &openintentv1.Intent{Id: req.GetIntentId(), Version: p.version.Load()}, nil
}

func (p *paged) SetIntentStatus(_ context.Context, req *openintentv1.SetIntentStatusRequest) (*openintentv1.Intent, error) {
	if p.changes.Add(-1) >= 0 {
		p.version.Add(1)
	}
	if !p.version.CompareAndSwap(req.GetExpectedVersion(), req.GetExpectedVersion()+1) {
		changed, err := status.New(codes.Aborted, "the intent has changed").WithDetails(&errdetails.ErrorInfo{Reason: "VERSION_MISMATCH"})
		return nil, cmp.Or(err, changed.Err())
	}
	return &openintentv1.Intent{Id: req.GetIntentId(), Version: p.version.Load(), Status: req.GetStatus()}, nil
}

func (p *paged) ListInvites(_ context.Context, req *openintentv1.ListInvitesRequest) (*openintentv1.ListInvitesResponse, error) {
	response := &openintentv1.ListInvitesResponse{}
	response.Invites, response.NextCursor = leaf(req.Cursor, &openintentv1.Invite{Id: "first"}, &openintentv1.Invite{Id: "last"})
	return response, nil
}

func (p *paged) ListKeys(_ context.Context, req *openintentv1.ListKeysRequest) (*openintentv1.ListKeysResponse, error) {
	response := &openintentv1.ListKeysResponse{}
	response.Keys, response.NextCursor = leaf(req.Cursor, &openintentv1.Key{Id: "first"}, &openintentv1.Key{Id: "last"})
	return response, nil
}

// GetInbox has looked at enough messages before it comes to the one that waits.
func (p *paged) GetInbox(_ context.Context, req *openintentv1.GetInboxRequest) (*openintentv1.Inbox, error) {
	if req.Cursor == nil {
		return &openintentv1.Inbox{NextCursor: new("2")}, nil
	}
	return &openintentv1.Inbox{Items: []*openintentv1.InboxItem{{
		IntentId: "i", Message: said("msg_last"), Attention: &openintentv1.Attention{Policy: answerable[0]},
	}}}, nil
}

// ListMessages returns three pages. The second one is empty, because the server has looked at enough messages.
func (p *paged) ListMessages(_ context.Context, req *openintentv1.ListMessagesRequest) (*openintentv1.ListMessagesResponse, error) {
	switch req.GetSince() {
	default:
		return &openintentv1.ListMessagesResponse{Messages: []*openintentv1.Message{said("msg_first")}, NextSince: new("msg_first")}, nil
	case "msg_first":
		return &openintentv1.ListMessagesResponse{Bounded: true, NextSince: new("further")}, nil
	case "further":
		return &openintentv1.ListMessagesResponse{Messages: []*openintentv1.Message{said("msg_last")}, NextSince: new("msg_last")}, nil
	case "msg_last":
		return &openintentv1.ListMessagesResponse{}, nil
	}
}

func (p *paged) ListObligations(
	_ context.Context, req *openintentv1.ListObligationsRequest,
) (*openintentv1.ListObligationsResponse, error) {
	response := &openintentv1.ListObligationsResponse{}
	response.Messages, response.NextCursor = leaf(req.Cursor, said("msg_first"), said("msg_last"))
	return response, nil
}

// AddReaction says where the reaction was added.
func (p *paged) AddReaction(_ context.Context, req *openintentv1.AddReactionRequest) (*openintentv1.ListReactionsResponse, error) {
	return &openintentv1.ListReactionsResponse{Reactions: []*openintentv1.Reaction{{AgentId: "a", Signal: req.GetChannelId()}}}, nil
}

func (p *paged) SearchMessages(
	_ context.Context, req *openintentv1.SearchMessagesRequest,
) (*openintentv1.SearchMessagesResponse, error) {
	response := &openintentv1.SearchMessagesResponse{CompleteThrough: timestamppb.Now()}
	response.Messages, response.NextCursor = leaf(req.Cursor,
		&openintentv1.FoundMessage{Message: said("msg_first")}, &openintentv1.FoundMessage{Message: said("msg_last")})
	return response, nil
}

// Whatever lists, lists all pages, and whatever looks for something looks on all of them.
func TestCommandsReadAllPages(t *testing.T) {
	_, run := servePages(t)
	for command, last := range map[string]string{
		"agents --ids": "first\nlast\n", "agents refused": "last", "channels --intent i": "last", "channels show last --intent i": "last",
		"invites list last --intent i --ids": "first\nlast\n", "keys --ids": "first\nlast\n", "owed": "msg_last", "owing": "msg_last",
		"search w --limit 0": "msg_last", "search w --limit 2": "msg_last", "messages last --intent i --since msg_0 --ids": "msg_last",
		"react msg_last seen": said("").GetChannelId(), "inbox --ids": "msg_last\n", "wake --once": `"message":"msg_last"`,
	} {
		did := run(strings.Fields(command)...)
		require.Equal(t, exitOK, did.exit, "%s: %s", command, did.stderr)
		require.Contains(t, did.stdout, last, command)
	}
	require.NotContains(t, run("search", "w", "--limit", "1").stdout, "last")
	require.Equal(t, 1, rows(run("messages", "last", "--intent", "i", "--since", "msg_0", "--limit", "1", "--ids").stdout))
	require.Equal(t, exitNotFound, run("react", "msg_none", "seen").exit, "it is on no page")
}

// A list of events is read until there are enough of them, and shows the newest last, whichever way it was read.
func TestEventsAreReadOverBoundedPages(t *testing.T) {
	_, run := servePages(t)
	sequences := func(arguments ...string) (found []string) {
		for line := range strings.Lines(run(append([]string{"events", "--intent", "i"}, arguments...)...).stdout) {
			if fields := strings.Fields(line); fields[0] != "SEQUENCE" {
				found = append(found, fields[0])
			}
		}
		return found
	}
	require.Equal(t, []string{"3", "7"}, sequences())
	require.Equal(t, []string{"7"}, sequences("--limit", "1"), "the newest")
	require.Equal(t, []string{"7", "3"}, sequences("--after", "0"), "as the server lists them, which is the oldest first then")
}

// A status is set whatever changes meanwhile, unless it changes all the time.
func TestAStatusIsSetWhileTheIntentChanges(t *testing.T) {
	p, run := servePages(t)
	p.changes.Store(attempts - 1)
	done := run("intents", "status", "i", "completed")
	require.Contains(t, done.stdout, "completed", done.stderr)
	p.changes.Store(attempts)
	did := run("intents", "status", "i", "abandoned")
	require.Equal(t, exitConflict, did.exit, did.stdout)
}

func TestHowManyMessagesAreListed(t *testing.T) {
	for name, row := range map[string]struct {
		command messagesCommand
		limit   int
		all     bool
	}{
		"the newest":              {messagesCommand{}, 50, false},
		"the newest, and go on":   {messagesCommand{Follow: true}, 10, false},
		"since then":              {messagesCommand{Since: "1h"}, 0, true},
		"since then, and go on":   {messagesCommand{Since: "1h", Follow: true}, 0, true},
		"as many as are asked":    {messagesCommand{Limit: new(3), Follow: true}, 3, false},
		"so many since then":      {messagesCommand{Limit: new(3), Since: "1h"}, 3, false},
		"none, if that is wanted": {messagesCommand{Limit: new(0)}, 0, false},
	} {
		limit, all := row.command.limit()
		require.Equal(t, row.limit, limit, name)
		require.Equal(t, row.all, all, name)
	}
}
