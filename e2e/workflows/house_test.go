package workflows

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"openintent/clients/workflows"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// examples is the folder with the example files of package workflows.
const examples = "../../clients/workflows/testdata"

// begin is the header of files whose header does not matter.
const begin = "version: '1.0'\nintent: {title: Report}\nchannels:\n"

func parse(t *testing.T, text string) *workflows.File {
	t.Helper()
	file, err := workflows.Parse("w.yaml", []byte(text))
	require.NoError(t, err)
	return file
}

func example(t *testing.T, name string) *workflows.File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, name))
	require.NoError(t, err)
	return parse(t, string(text))
}

func clients(c *harness.Caller) workflows.Clients {
	return workflows.Clients{Intents: c.Intents, Channels: c.Channels}
}

// apply applies a file as an agent and returns the result.
func apply(t *testing.T, c *harness.Caller, file *workflows.File, options workflows.Options) *workflows.Result {
	t.Helper()
	options.Agent = c.Agent
	result, err := workflows.Apply(t.Context(), clients(c), file, options)
	require.NoError(t, err)
	return result
}

// lines returns what the command prints, with the intent's id masked.
func lines(result *workflows.Result) []string {
	said := result.Intent.String()
	if id := result.Intent.ID; id != "" {
		said = strings.Replace(said, id, "ID", 1)
	}
	all := []string{said}
	for _, change := range result.Channels {
		all = append(all, change.String())
	}
	return all
}

// snapshot returns everything that a server has of intents and channels, as text.
func snapshot(t *testing.T, h *harness.Server) string {
	t.Helper()
	operator := h.Operator()
	listed, err := operator.Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
	require.NoError(t, err)
	require.Less(t, listed.GetTotal(), int64(50))
	all := protojson.Format(listed)
	for _, intent := range listed.GetIntents() {
		channels, err := operator.Channels.ListChannels(t.Context(), &openintentv1.ListChannelsRequest{IntentId: intent.GetId()})
		require.NoError(t, err)
		events, err := operator.Events.ListEvents(t.Context(), &openintentv1.ListEventsRequest{IntentId: intent.GetId()})
		require.NoError(t, err)
		all += protojson.Format(channels) + protojson.Format(events)
	}
	// The format adds random spaces, so that nobody compares it byte by byte.
	return strings.Join(strings.Fields(all), " ")
}

// channels returns the open channels of an intent, each as one line.
func channels(t *testing.T, c *harness.Caller, intentID string) (described []string) {
	t.Helper()
	listed, err := c.Channels.ListChannels(t.Context(), &openintentv1.ListChannelsRequest{
		IntentId: intentID, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum(),
	})
	require.NoError(t, err)
	for _, channel := range listed.GetChannels() {
		options := channel.GetOptions()
		described = append(described, fmt.Sprintf("%s by %s %v %s audit=%v ttl=%d max=%d task=%s", channel.GetName(), channel.GetCreatedBy(),
			channel.GetMembers(), strings.ToLower(strings.TrimPrefix(channel.GetMemberPolicy().String(), "MEMBER_POLICY_")),
			options.GetAudit(), options.GetTtlSeconds(), options.GetMaxMessages(), channel.GetTaskId()))
	}
	return described
}

func newIntent(t *testing.T, c *harness.Caller, title string) string {
	t.Helper()
	intent, err := c.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: title})
	require.NoError(t, err)
	return intent.GetId()
}

func newChannel(t *testing.T, c *harness.Caller, intentID, name string, members ...string) *openintentv1.Channel {
	t.Helper()
	channel, err := c.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intentID, Name: name, Members: members,
	})
	require.NoError(t, err)
	return channel
}

// disturbed is a client of channels that runs something before each writing call: a failure, or another agent's
// action.
type disturbed struct {
	openintentv1.ChannelServiceClient
	before func(call string) error
}

func (d disturbed) CreateChannel(
	ctx context.Context, req *openintentv1.CreateChannelRequest, options ...grpc.CallOption,
) (*openintentv1.Channel, error) {
	if err := d.before("create " + req.GetName()); err != nil {
		return nil, err
	}
	return d.ChannelServiceClient.CreateChannel(ctx, req, options...)
}

func (d disturbed) UpdateChannel(
	ctx context.Context, req *openintentv1.UpdateChannelRequest, options ...grpc.CallOption,
) (*openintentv1.Channel, error) {
	if err := d.before("update " + strings.Join(req.GetUpdateMask().GetPaths(), ",")); err != nil {
		return nil, err
	}
	return d.ChannelServiceClient.UpdateChannel(ctx, req, options...)
}

func (d disturbed) AddChannelMembers(
	ctx context.Context, req *openintentv1.AddChannelMembersRequest, options ...grpc.CallOption,
) (*openintentv1.Channel, error) {
	if err := d.before("add " + strings.Join(req.GetMembers(), ",")); err != nil {
		return nil, err
	}
	return d.ChannelServiceClient.AddChannelMembers(ctx, req, options...)
}

func (d disturbed) RemoveChannelMember(
	ctx context.Context, req *openintentv1.RemoveChannelMemberRequest, options ...grpc.CallOption,
) (*openintentv1.Channel, error) {
	if err := d.before("remove " + req.GetAgentId()); err != nil {
		return nil, err
	}
	return d.ChannelServiceClient.RemoveChannelMember(ctx, req, options...)
}
