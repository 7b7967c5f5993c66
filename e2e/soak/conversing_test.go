package soak

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// converse lets the leader and its friend talk in a thread about a task, mention each other, and read the thread.
func (f *life) converse(ctx context.Context) error {
	task, err := f.leader.Tasks.CreateTask(ctx, &openintentv1.CreateTaskRequest{IntentId: f.intent.GetId(), Name: "talk about it"})
	if err != nil {
		return err
	}
	root, err := f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
		ChannelId: f.talk, TaskId: proto.String(task.GetId()), Payload: content("@" + f.friend.Agent + " and @role:" + helpers),
	})
	if err != nil {
		return err
	}
	if len(root.GetMentions()) != 2 {
		return fmt.Errorf("the root mentions %v", root.GetMentions())
	}
	below, err := f.friend.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
		ChannelId: f.talk, ParentId: proto.String(root.GetId()), IdempotencyKey: proto.String("below"), Payload: content("yes"),
	})
	if err != nil {
		return err
	}
	thread, err := f.friend.Messages.GetThread(ctx, &openintentv1.GetThreadRequest{ChannelId: f.talk, MessageId: below.GetId()})
	if err != nil {
		return err
	}
	list, err := f.friend.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
		ChannelId: f.talk, ThreadId: proto.String(root.GetId()), Since: proto.String(root.GetId()),
	})
	if err == nil && (len(thread.GetMessages()) != 1 || len(list.GetMessages()) != 1) {
		err = errors.New("the thread does not have its one message")
	}
	return err
}
