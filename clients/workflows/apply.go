package workflows

import (
	"context"
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// Clients make the calls that apply a file. The calls carry the identity of the user who applies it.
type Clients struct {
	Intents  openintentv1.IntentServiceClient
	Channels openintentv1.ChannelServiceClient
}

// Options say where and how a file is applied.
type Options struct {
	// IntentID takes precedence over the intent that the file names.
	IntentID string
	// Agent is the agent that the clients act as, if it is known: then only an intent that this agent made can be the
	// workflow's. If it is empty, an intent of any agent can be.
	Agent string
	// DryRun only finds out what would be done.
	DryRun bool
}

// IntentResult says which intent has the channels.
type IntentResult struct {
	Action Action `json:"action"`
	// ID is empty for an intent that a dry run would make.
	ID    string `json:"id,omitempty"`
	Title string `json:"title"`
}

// String describes the result in one line.
func (r IntentResult) String() string {
	sign := "="
	if r.Action == ActionCreate {
		sign = "+"
	}
	if r.ID == "" {
		return fmt.Sprintf("%s intent (%s)", sign, r.Title)
	}
	return fmt.Sprintf("%s intent %s (%s)", sign, r.ID, r.Title)
}

// Result is what was done or, after a dry run, what would be done.
type Result struct {
	DryRun bool `json:"dry_run"`
	// Intent is nil if none was found or made.
	Intent *IntentResult `json:"intent"`
	// Channels are the changes in the order of the file. If a change failed half-way, they include the part that was done.
	Channels []Change `json:"channels"`
}

// ErrIntentEnded refuses to apply a file to a named intent that has ended.
var ErrIntentEnded = errors.New("it has ended and takes no channels; name another intent")

// CallError is a call that failed. Unwrap gives the call's own error, with its code.
type CallError struct {
	// Doing says what the call was for, and which place in the file caused it, if one did.
	Doing string
	cause error
}

func (e *CallError) Error() string { return e.Doing + ": " + status.Convert(e.cause).Message() }

// Unwrap returns the call's own error.
func (e *CallError) Unwrap() error { return e.cause }

// anySize allows answers that are larger than gRPC's default: channels with many members, intents with large states. The
// server bounds their size.
var anySize = grpc.MaxCallRecvMsgSize(math.MaxInt32)

// application is a file being applied.
type application struct {
	clients Clients
	file    *File
	options Options
}

// Apply changes the intent's channels to what the file says. Together with an error it returns what was done before.
func Apply(ctx context.Context, clients Clients, file *File, options Options) (*Result, error) {
	a := &application{clients, file, options}
	result := &Result{DryRun: options.DryRun, Channels: []Change{}}
	intent, err := a.intent(ctx)
	if err != nil {
		return result, err
	}
	result.Intent = intent
	var open []*openintentv1.Channel
	if intent.Action == ActionNone {
		if open, err = a.openChannels(ctx, intent.ID); err != nil {
			return result, err
		}
	}
	changes, problems := Compare(file, open)
	if err := problems.orNil(); err != nil {
		return result, err
	}
	if options.DryRun {
		result.Channels = append(result.Channels, changes...)
		return result, nil
	}
	for _, change := range changes {
		done, err := a.carryOut(ctx, intent.ID, change)
		if err == nil || done.Action != ActionNone {
			result.Channels = append(result.Channels, done)
		}
		if err != nil {
			at := Problem{File: file.Name, Position: change.wanted.At, Text: "channel " + quoted(change.Name)}
			return result, &CallError{Doing: at.Error(), cause: err}
		}
	}
	return result, nil
}

func (a *application) openChannels(ctx context.Context, intentID string) ([]*openintentv1.Channel, error) {
	request := &openintentv1.ListChannelsRequest{
		IntentId: intentID, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum(),
	}
	var open []*openintentv1.Channel
	for {
		page, err := a.clients.Channels.ListChannels(ctx, request, anySize)
		if err != nil {
			return nil, &CallError{Doing: "intent " + quoted(intentID), cause: err}
		}
		open = append(open, page.GetChannels()...)
		if page.NextCursor == nil {
			return open, nil
		}
		request.Cursor = page.NextCursor
	}
}

// carryOut makes one change and returns the part of it that was done.
func (a *application) carryOut(ctx context.Context, intentID string, change Change) (done Change, err error) {
	switch change.Action {
	case ActionCreate:
		return a.create(ctx, intentID, change)
	case ActionUpdate:
		return a.update(ctx, change)
	default:
		return change, nil
	}
}

// create makes a channel. If somebody else made it in the meantime, create changes it to what the file says.
func (a *application) create(ctx context.Context, intentID string, change Change) (done Change, err error) {
	wanted := change.wanted
	req := &openintentv1.CreateChannelRequest{
		IntentId: intentID, Name: wanted.Name, Members: wanted.Members, MemberPolicy: wanted.Policy.Enum(), Options: wanted.options(),
	}
	if wanted.TaskID != "" {
		req.TaskId = &wanted.TaskID
	}
	created, err := a.clients.Channels.CreateChannel(ctx, req, anySize)
	switch {
	case err == nil:
		change.ID = created.GetId()
		return change, nil
	case status.Code(err) != codes.AlreadyExists:
		return Change{Action: ActionNone}, err
	}
	open, listErr := a.openChannels(ctx, intentID)
	if listErr != nil {
		return Change{Action: ActionNone}, listErr
	}
	for _, existing := range open {
		if existing.GetName() == wanted.Name && existing.GetTaskId() == wanted.TaskID {
			return a.carryOut(ctx, intentID, difference(wanted, existing))
		}
	}
	return Change{Action: ActionNone}, err
}

// update changes an open channel. It adds members first and removes members last, so every agent that should take part can do
// so all the time.
func (a *application) update(ctx context.Context, change Change) (done Change, err error) {
	done = change
	done.Action, done.Settings, done.Added, done.Removed = ActionNone, []Setting{}, []string{}, []string{}
	if len(change.Added) > 0 {
		req := &openintentv1.AddChannelMembersRequest{ChannelId: change.ID, Members: change.Added}
		if _, err := a.clients.Channels.AddChannelMembers(ctx, req, anySize); err != nil {
			return done, err
		}
		done.Action, done.Added = ActionUpdate, change.Added
	}
	if len(change.Settings) > 0 {
		if _, err := a.clients.Channels.UpdateChannel(ctx, change.request(), anySize); err != nil {
			return done, err
		}
		done.Action, done.Settings = ActionUpdate, change.Settings
	}
	for _, member := range change.Removed {
		req := &openintentv1.RemoveChannelMemberRequest{ChannelId: change.ID, AgentId: member}
		if _, err := a.clients.Channels.RemoveChannelMember(ctx, req, anySize); err != nil {
			return done, err
		}
		done.Action, done.Removed = ActionUpdate, append(done.Removed, member)
	}
	return done, nil
}

// request returns a request that changes only the settings that differ.
func (c Change) request() *openintentv1.UpdateChannelRequest {
	mask := &fieldmaskpb.FieldMask{}
	for _, setting := range c.Settings {
		path := setting.Name
		if path != settingPolicy {
			path = "options." + path
		}
		mask.Paths = append(mask.Paths, path)
	}
	return &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: c.ID, MemberPolicy: c.wanted.Policy, Options: c.wanted.options()},
		UpdateMask: mask,
	}
}

func (c Channel) options() *openintentv1.ChannelOptions {
	history := openintentv1.ChannelHistory_CHANNEL_HISTORY_ALL
	if c.FromJoin {
		history = openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN
	}
	return &openintentv1.ChannelOptions{
		Audit: &c.Audit, TtlSeconds: c.TTLSeconds, MaxMessages: &c.MaxMessages, History: &history, TurnBudget: &c.TurnBudget,
		ConversationBudget: c.ConversationBudget,
	}
}
