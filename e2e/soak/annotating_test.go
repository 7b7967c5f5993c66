package soak

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// annotate lets the leader and its friend react to messages, claim them, edit and delete them, and follow what happens to them.
func (f *life) annotate(ctx context.Context) error {
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.leader.Messages.Subscribe(following, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: f.talk}, Include: []string{"annotations"},
	})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{f.react, f.claim, f.edit} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for {
		response, err := stream.Recv()
		if err != nil || response.GetAnnotation().GetType() == "message_deleted" {
			return err
		}
	}
}

// react sets signals, changes one, takes one away, and reads them in the list and in the thread.
func (f *life) react(ctx context.Context) error {
	sent, err := f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: f.talk, Payload: content("react to this")})
	if err != nil {
		return err
	}
	for _, signal := range []string{"working", "x-later", "working"} {
		_, err := f.friend.Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{
			ChannelId: f.talk, MessageId: sent.GetId(), Signal: signal, Note: proto.String("for " + signal),
		})
		if err != nil {
			return err
		}
	}
	_, err = f.friend.Reactions.RemoveReaction(ctx, &openintentv1.RemoveReactionRequest{
		ChannelId: f.talk, MessageId: sent.GetId(), Signal: "x-later",
	})
	if err != nil {
		return err
	}
	list, err := f.leader.Reactions.ListReactions(ctx, &openintentv1.ListReactionsRequest{ChannelId: f.talk, MessageId: sent.GetId()})
	if err != nil {
		return err
	}
	thread, err := f.leader.Messages.GetThread(ctx, &openintentv1.GetThreadRequest{ChannelId: f.talk, MessageId: sent.GetId()})
	if err == nil && (len(list.GetReactions()) != 1 || len(thread.GetReactions()) != 1) {
		err = fmt.Errorf("the list has %v, the thread %v", list.GetReactions(), thread.GetReactions())
	}
	return err
}

// claim asks the helpers for one answer. The friend claims the request, gives it back, claims it again, renews the claim and answers.
func (f *life) claim(ctx context.Context) error {
	request, err := f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
		ChannelId: f.talk, To: proto.String("role:" + helpers), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
		Collect: structpb.NewStringValue("one"), Payload: content("who does this"),
	})
	if err != nil {
		return err
	}
	take := &openintentv1.ClaimMessageRequest{ChannelId: f.talk, MessageId: request.GetId()}
	held, err := f.friend.Claims.ClaimMessage(ctx, take)
	if err != nil {
		return err
	}
	_, err = f.friend.Claims.ReleaseClaim(ctx, &openintentv1.ReleaseClaimRequest{
		ChannelId: f.talk, MessageId: request.GetId(), Fence: held.GetFence(),
	})
	if err != nil {
		return err
	}
	for range 2 {
		if held, err = f.friend.Claims.ClaimMessage(ctx, take); err != nil {
			return err
		}
		take.Fence = proto.Int64(held.GetFence())
	}
	_, err = f.friend.Messages.ReplyMessage(ctx, &openintentv1.ReplyMessageRequest{
		ChannelId: f.talk, MessageId: request.GetId(), Payload: content("I did"), Fence: take.Fence,
	})
	return err
}

// edit gives a message new content, reads its revisions and deletes it.
func (f *life) edit(ctx context.Context) error {
	sent, err := f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: f.talk, Payload: content("frist")})
	if err != nil {
		return err
	}
	edited, err := f.leader.Messages.UpdateMessage(ctx, &openintentv1.UpdateMessageRequest{
		ChannelId: f.talk, MessageId: sent.GetId(), Payload: content("first, @" + f.friend.Agent),
	})
	if err != nil {
		return err
	}
	list, err := f.friend.Messages.ListRevisions(ctx, &openintentv1.ListRevisionsRequest{ChannelId: f.talk, MessageId: sent.GetId()})
	if err != nil {
		return err
	}
	if len(list.GetRevisions()) != 2 || len(edited.GetMentions()) != 1 {
		return fmt.Errorf("the message has %d revisions and mentions %v", len(list.GetRevisions()), edited.GetMentions())
	}
	_, err = f.leader.Messages.DeleteMessage(ctx, &openintentv1.DeleteMessageRequest{ChannelId: f.talk, MessageId: sent.GetId()})
	return err
}
