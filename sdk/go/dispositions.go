package openintent

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// Disposition is what a recipient did with a message. An answer makes it DispositionResponded by itself.
type Disposition string

// These are the dispositions.
const (
	DispositionResponded    Disposition = "responded"
	DispositionAcknowledged Disposition = "acknowledged"
	DispositionDeferred     Disposition = "deferred"
	DispositionClaimed      Disposition = "claimed"
	DispositionIgnored      Disposition = "ignored"
	DispositionSuperseded   Disposition = "superseded"
	DispositionFailed       Disposition = "failed"
)

// DispositionOptions are what a recipient may say beside a disposition.
type DispositionOptions struct {
	// Reason has at most 200 characters.
	Reason string
	// Until is until when the message is put off; only DispositionDeferred has it.
	Until time.Time
}

// SetDisposition says what the client's agent, a recipient, did with a message. The last one counts. It returns when that was stored.
func (c *Client) SetDisposition(
	ctx context.Context, channelID, messageID string, disposition Disposition, options DispositionOptions,
) (time.Time, error) {
	stored, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.MessageDisposition, error) {
		return c.raw.Attention.SetDisposition(ctx, &openintentv1.SetDispositionRequest{
			ChannelId: channelID, MessageId: messageID, Disposition: string(disposition), Reason: optional(options.Reason),
			Until: stampOf(options.Until),
		})
	})
	if err != nil {
		return time.Time{}, err
	}
	return timeOf(stored.GetDisposedAt()), nil
}

// Dispose says what the client's agent did with the message, as Client.SetDisposition does.
func (m *Message) Dispose(ctx context.Context, disposition Disposition, options DispositionOptions) (time.Time, error) {
	return m.client.SetDisposition(ctx, m.ChannelID, m.ID, disposition, options)
}
