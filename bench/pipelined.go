package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// pipelines is how many streams send simultaneously, and pipelineWindow is how many unanswered messages each may
	// have.
	pipelines      = 4
	pipelineWindow = 256
)

// pipelined sends on a few streams that do not wait for each answer.
func (p plan) pipelined(ctx context.Context, t *target, channel string) (figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	took := make([][]time.Duration, pipelines)
	failures := make([]error, pipelines)
	started := time.Now()
	var streams sync.WaitGroup
	for i := range pipelines {
		streams.Go(func() { took[i], failures[i] = t.pipeline(ctx, channel, started.Add(p.duration)) })
	}
	streams.Wait()
	elapsed := time.Since(started)
	if err := errors.Join(failures...); err != nil {
		return figure{}, err
	}
	return figureOf(slices.Concat(took...), elapsed)
}

// pipeline sends on one stream until a given time and returns how long each message waited for its answer.
func (t *target) pipeline(ctx context.Context, channel string, until time.Time) (took []time.Duration, err error) {
	stream, err := openintentv1.NewMessageServiceClient(t.conn).SendMessages(as(ctx, asker))
	if err != nil {
		return nil, err
	}
	under := make(chan time.Time, pipelineWindow) // when the unanswered messages were sent
	go func() {
		defer close(under)
		for now := time.Now(); now.Before(until); now = time.Now() {
			under <- now
			if stream.Send(&openintentv1.SendMessageRequest{ChannelId: channel, Payload: payload()}) != nil {
				return // the receiving side reports why
			}
		}
		_ = stream.CloseSend()
	}()
	for sent := range under {
		response, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		if refusal := response.GetRefusal(); refusal != nil {
			return nil, fmt.Errorf("a message was refused: %v", refusal)
		}
		took = append(took, time.Since(sent))
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the stream did not end with the last answer: %w", err)
	}
	return took, nil
}
