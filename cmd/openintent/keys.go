package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// keysCommand holds the verbs that work on the API keys in the server's database.
type keysCommand struct {
	List   keyListCommand   `cmd:"" default:"withargs" help:"List the keys: the active ones unless asked otherwise."`
	Create keyCreateCommand `cmd:"" help:"Create a key and print its secret, this once."`
	Show   keyShowCommand   `cmd:"" help:"Show a key, without its secret."`
	Rotate keyRotateCommand `cmd:"" help:"Give a key a new secret and print it, this once."`
	Revoke keyRevokeCommand `cmd:"" help:"End a key for good."`
}

// keyConnection is the connection of the commands about keys. They act as the operator, so they use no agent except one that
// the command line itself names.
type keyConnection struct{ connection }

func (c keyConnection) dial(to terminal) (*openintent.Client, error) {
	client, err := c.connection.dial(to)
	if err != nil || c.Agent != "" {
		return client, err
	}
	return client.As(""), nil
}

// keyListCommand lists keys.
type keyListCommand struct {
	keyConnection
	listing
	Status string `enum:"active,expired,revoked,all" default:"active" placeholder:"STATUS" help:"Only keys with this status: active, expired, revoked, or all (active)."`
}

// Run prints a table.
func (c *keyListCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	request := &openintentv1.ListKeysRequest{}
	if c.Status != "all" {
		request.Status = openintentv1.KeyStatus(number(openintentv1.KeyStatus_value, "KEY_STATUS_", c.Status)).Enum()
	}
	listed, err := openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Key, *string, error) {
		request.Cursor = cursor
		page, err := client.Raw().Keys.ListKeys(ctx, request)
		if err != nil {
			return nil, nil, err
		}
		return page.GetKeys(), page.NextCursor, nil
	})
	if err != nil {
		return err
	}
	printed := newTable("KEY", "STATUS", "ACTS AS", "WHERE", "KIND", "EXPIRES", "LAST USED", "LABEL")
	return listOf(c.listing, to, printed, listed, func(k *openintentv1.Key) []string {
		return []string{
			k.GetId(), word(k.GetStatus()), actsAs(k), where(k), kind(k), clock(k.GetExpiresAt()), clock(k.GetLastUsedAt()), k.GetLabel(),
		}
	})
}

// keyCreateCommand creates a key.
type keyCreateCommand struct {
	keyConnection
	output
	Label             string        `arg:"" help:"What the key is for, in words for people."`
	Bind              []string      `field:"agents" placeholder:"AGENT" help:"Agent that the key acts as; may be repeated."`
	Operator          bool          `help:"Make a key that acts as any agent and as the operator, instead of binding it to agents."`
	Role              []string      `field:"roles" placeholder:"ROLE" help:"Role that its agents may take, * for any; may be repeated. Without it they may take none."`
	Intent            []string      `field:"intents" complete:"intents" placeholder:"ID" help:"Intent in which the key works; may be repeated. Without intents and channels it works everywhere."`
	Channel           []string      `field:"channels" placeholder:"ID" help:"Id of a channel on which the key works; may be repeated."`
	ReadOnly          bool          `help:"Make a key that may only read."`
	Human             bool          `help:"Make the key of a person, who has one agent's name."`
	Expires           time.Duration `field:"expires_at" placeholder:"DURATION" help:"For how long the key is valid (without an end)."`
	MessagesPerSecond *int64        `placeholder:"N" help:"How many messages the key may send in a second, 0 for no bound (the server's setting)."`
	BytesPerSecond    *int64        `placeholder:"N" help:"How many bytes the key may send in a second, 0 for no bound (the server's setting)."`
	RowsPerSecond     *int64        `placeholder:"N" help:"How many rows the key's calls may add or change in a second, 0 for no bound (the server's setting)."`

	StoredBytesPerSecond *int64 `placeholder:"N" help:"How many bytes the key's calls may store in a second, 0 for no bound (the server's setting)."`
}

// check refuses flags that do not go together, as the server does, in the words of the command line.
func (c *keyCreateCommand) check() error {
	switch scoped := len(c.Intent)+len(c.Channel) > 0; {
	case len(c.Bind) == 0 && !c.Operator:
		return usagef("name the agents that the key acts as with --bind AGENT, which may be repeated, or use --operator for a key that may do everything")
	case c.Operator && len(c.Bind) > 0:
		return usagef("an operator's key is not bound to agents; leave out --operator or --bind")
	case c.Operator && c.ReadOnly:
		return usagef("an operator's key may do everything; use --bind in place of --operator for a key that only reads")
	case c.Operator && c.Human:
		return usagef("a person's key is no operator's; use --bind in place of --operator, with the person's agent")
	case c.Operator && scoped:
		return usagef("an operator's key works everywhere; leave out --operator, or leave out --intent and --channel")
	case c.Human && len(c.Bind) != 1:
		return usagef("a person's key has exactly one agent; use --bind once")
	case c.Expires < 0:
		return usagef("--expires must be above zero; leave it out for a key without an end")
	}
	return nil
}

// Run prints the key's secret alone on stdout, for scripts, and the rest on stderr.
func (c *keyCreateCommand) Run(ctx context.Context, to terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	request := &openintentv1.CreateKeyRequest{
		Label: c.Label, Agents: c.Bind, Operator: c.Operator, Roles: c.Role, Intents: c.Intent, Channels: c.Channel,
		ReadOnly: c.ReadOnly, Human: c.Human,
		MessagesPerSecond: c.MessagesPerSecond, BytesPerSecond: c.BytesPerSecond,
		RowsPerSecond: c.RowsPerSecond, StoredBytesPerSecond: c.StoredBytesPerSecond,
	}
	if c.Expires != 0 {
		request.ExpiresAt = timestamppb.New(time.Now().Add(c.Expires))
	}
	issued, err := called(client.Raw().Keys.CreateKey(ctx, request))
	if err != nil {
		return err
	}
	return c.issue(to, issued, fmt.Sprintf("The key %s acts as %s.", issued.GetKey().GetId(), actsAs(issued.GetKey())))
}

// issue prints a new secret, with a sentence about its key.
func (o output) issue(to terminal, issued *openintentv1.IssuedKey, about string) error {
	if o.JSON {
		return lines(to, issued)
	}
	const once = "Keep its secret now; the server does not keep it and cannot show it again."
	to.note("%s %s", about, once)
	return printLine(to, issued.GetSecret())
}

// keyArgument names a key.
type keyArgument struct {
	ID string `arg:"" name:"key-id" help:"The key's id."`
}

// keyShowCommand shows a key.
type keyShowCommand struct {
	keyConnection
	output
	keyArgument
}

// Run prints its fields.
func (c *keyShowCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	key, err := called(client.Raw().Keys.GetKey(ctx, &openintentv1.GetKeyRequest{KeyId: c.ID}))
	if err != nil {
		return err
	}
	return show(c.output, to, key, keyFields)
}

// keyRotateCommand gives a key a new secret.
type keyRotateCommand struct {
	keyConnection
	output
	keyArgument
	Grace time.Duration `placeholder:"DURATION" help:"For how long the present secret stays valid, a day at most (not at all)."`
}

// Run prints the new secret as keys create does.
func (c *keyRotateCommand) Run(ctx context.Context, to terminal) error {
	if c.Grace < 0 || c.Grace > 24*time.Hour || c.Grace%time.Second != 0 {
		return usagef("--grace is a number of whole seconds up to a day, such as 1h")
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	issued, err := called(client.Raw().Keys.RotateKey(ctx, &openintentv1.RotateKeyRequest{
		KeyId: c.ID, GraceSeconds: int32(c.Grace / time.Second),
	}))
	if err != nil {
		return err
	}
	former := "is no longer valid"
	if until := issued.GetKey().GetFormerSecretExpiresAt(); until != nil {
		former = "is valid until " + clock(until)
	}
	return c.issue(to, issued, fmt.Sprintf("The key %s has a new secret; the one before %s.", c.ID, former))
}

// keyRevokeCommand ends a key.
type keyRevokeCommand struct {
	keyConnection
	output
	keyArgument
}

// Run prints the revoked key's fields.
func (c *keyRevokeCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	key, err := called(client.Raw().Keys.RevokeKey(ctx, &openintentv1.RevokeKeyRequest{KeyId: c.ID}))
	if err != nil {
		return err
	}
	return show(c.output, to, key, keyFields)
}

func keyFields(k *openintentv1.Key) (shown fields) {
	shown.add("key", k.GetId())
	shown.add("label", k.GetLabel())
	shown.add("status", word(k.GetStatus()))
	shown.add("acts as", actsAs(k))
	shown.add("roles", strings.Join(k.GetRoles(), ", "))
	shown.add("intents", strings.Join(k.GetIntents(), ", "))
	shown.add("channels", strings.Join(k.GetChannels(), ", "))
	shown.add("kind", kind(k))
	if k.MessagesPerSecond != nil {
		shown.add("messages per second", strconv.FormatInt(k.GetMessagesPerSecond(), 10))
	}
	if k.BytesPerSecond != nil {
		shown.add("bytes per second", strconv.FormatInt(k.GetBytesPerSecond(), 10))
	}
	if k.RowsPerSecond != nil {
		shown.add("rows per second", strconv.FormatInt(k.GetRowsPerSecond(), 10))
	}
	if k.StoredBytesPerSecond != nil {
		shown.add("stored bytes per second", strconv.FormatInt(k.GetStoredBytesPerSecond(), 10))
	}
	shown.add("created", clock(k.GetCreatedAt())+" by "+k.GetCreatedBy())
	shown.add("expires", clock(k.GetExpiresAt()))
	shown.add("last used", clock(k.GetLastUsedAt()))
	shown.add("former secret until", clock(k.GetFormerSecretExpiresAt()))
	shown.add("revoked", clock(k.GetRevokedAt()))
	shown.add("version", strconv.FormatInt(k.GetVersion(), 10))
	shown.add("paused", k.GetPausedReason())
	shown.add("paused subscriptions", listed(k.GetPaused().GetSubscriptionIds(), k.GetPaused().GetMoreSubscriptions()))
	shown.add("paused invites", listed(k.GetPaused().GetInviteIds(), k.GetPaused().GetMoreInvites()))
	return shown
}

// listed joins the ids of a list, and says if there are more.
func listed(ids []string, more bool) string {
	if more {
		ids = append(slices.Clone(ids), "and more")
	}
	return strings.Join(ids, ", ")
}

// actsAs names the agents of a key.
func actsAs(k *openintentv1.Key) string {
	if k.GetOperator() {
		return "any agent and the operator"
	}
	return strings.Join(k.GetAgents(), ", ")
}

// where counts the places in which a key works.
func where(k *openintentv1.Key) string {
	var words []string
	if n := len(k.GetIntents()); n > 0 {
		words = append(words, fmt.Sprintf("intents: %d", n))
	}
	if n := len(k.GetChannels()); n > 0 {
		words = append(words, fmt.Sprintf("channels: %d", n))
	}
	if len(words) == 0 {
		return "everywhere"
	}
	return strings.Join(words, ", ")
}

// kind says what is special about a key.
func kind(k *openintentv1.Key) string {
	var words []string
	if k.GetHuman() {
		words = append(words, "human")
	}
	if k.GetReadOnly() {
		words = append(words, "read-only")
	}
	return strings.Join(words, ", ")
}
