package openintent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var mailAt = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// letterNo returns the letter that was sent at this second, under the name m and its number.
func letterNo(number int, kind MessageType, policy Policy, priority Priority) *letter {
	message := &Message{
		ID: "m" + string(rune('0'+number)), MessageType: kind, CreatedAt: mailAt.Add(time.Duration(number) * time.Second), Position: int64(number),
	}
	if policy != "" {
		message.Attention = &Attention{Policy: policy, Priority: priority}
	}
	return &letter{message: message, attempt: 1, came: mailAt, read: mailAt}
}

func waitingIDs(m *mail, now time.Time) (ids []string) {
	for _, l := range m.waiting(now) {
		ids = append(ids, l.message.ID)
	}
	return ids
}

func TestTheMostImportantMessageComesFirst(t *testing.T) {
	m := newMail()
	for _, l := range []*letter{
		letterNo(9, Notify, AckOnly, PriorityNormal), letterNo(8, Request, MustRespond, PriorityNormal),
		letterNo(7, Notify, MustNotRespond, PriorityUrgent), letterNo(6, Notify, MustRespond, PriorityNormal),
		letterNo(5, Request, MayRespond, PriorityNormal), letterNo(4, Request, MustNotRespond, PriorityNormal),
		letterNo(3, Notify, MayRespond, PriorityNormal), letterNo(2, Notify, MustRespond, PriorityUrgent),
	} {
		require.True(t, m.arrive(l, l.message.Position))
	}
	require.Equal(t, []string{"m2", "m7", "m5", "m6", "m8", "m3", "m4", "m9"}, waitingIDs(m, mailAt))
}

func TestWithoutAttentionTheMessageItselfSaysIt(t *testing.T) {
	m, urgent := newMail(), letterNo(3, Notify, "", "")
	urgent.message.Priority = PriorityUrgent
	for i, l := range []*letter{letterNo(1, Notify, "", ""), letterNo(2, Request, "", ""), urgent} {
		m.arrive(l, int64(i+1))
	}
	require.Equal(t, []string{"m3", "m2", "m1"}, waitingIDs(m, mailAt))
}

func TestWhatIsHeldOrSettledIsNotHandedOutAgain(t *testing.T) {
	m, one := newMail(), letterNo(1, Notify, "", "")
	require.True(t, m.arrive(one, 0), "it was found in the inbox")
	one.taken = true
	require.False(t, m.arrive(letterNo(1, Notify, "", ""), 4), "its delivery was on its way")
	require.False(t, m.arrive(letterNo(1, Notify, "", ""), 5), "the server sends it again after an hour")
	require.Empty(t, waitingIDs(m, mailAt))
	m.putBack("m1")
	m.putBack("unknown")
	require.Equal(t, []string{"m1"}, waitingIDs(m, mailAt))
	require.Equal(t, 2, one.attempt)
	require.Empty(t, m.acknowledgeable())
	m.finish("m1")
	require.Equal(t, []int64{4, 5}, m.acknowledgeable())
	require.False(t, m.arrive(letterNo(1, Notify, "", ""), 6))
	require.Equal(t, []int64{6}, m.acknowledgeable())
}

func TestWhatOthersHoldWaitsForLongerAndLonger(t *testing.T) {
	m, one := newMail(), letterNo(1, Request, "", "")
	m.arrive(one, 1)
	one.putOff(mailAt)
	require.Empty(t, waitingIDs(m, mailAt))
	require.Equal(t, mailAt.Add(time.Second), m.nextTurn(mailAt))
	require.Equal(t, []string{"m1"}, waitingIDs(m, mailAt.Add(time.Second)))
	for range 20 {
		one.putOff(mailAt)
	}
	require.Equal(t, mailAt.Add(longestTurn), m.nextTurn(mailAt))
	require.Zero(t, m.nextTurn(mailAt.Add(longestTurn)))
}

func TestAMailboxThatStandsByKeepsWhatWasTaken(t *testing.T) {
	m, kept := newMail(), letterNo(1, Notify, "", "")
	m.arrive(kept, 1)
	m.arrive(letterNo(2, Notify, "", ""), 2)
	m.passOver(3)
	kept.taken = true
	m.standBy()
	require.Equal(t, map[string]*letter{"m1": kept}, m.letters)
	require.Empty(t, m.acknowledgeable())
}

func TestNumbersAreAcknowledgedInPages(t *testing.T) {
	m := newMail()
	for number := range int64(mostFinished + 1) {
		m.passOver(number + 1)
	}
	m.passOver(0)
	require.Len(t, m.acknowledgeable(), mostFinished)
	require.Equal(t, []int64{mostFinished + 1}, m.acknowledgeable())
}

func TestAMessageIsOverAtItsDeadline(t *testing.T) {
	one := letterNo(1, Request, MustRespond, PriorityNormal)
	require.False(t, one.isOver(mailAt.Add(time.Hour)))
	deadline := 5 * time.Second
	one.message.Attention.Deadline = &deadline
	require.False(t, one.isOver(mailAt.Add(deadline-1)))
	require.True(t, one.isOver(mailAt.Add(deadline)))
}

func TestTheMailboxesOfOneAgentDifferByTheirChannels(t *testing.T) {
	named := func(channels ...string) string { return (&Mailbox{options: MailboxOptions{Channels: channels}}).name() }
	require.Equal(t, "mailbox", named())
	require.Equal(t, "mailbox-7e18f737311b2dc3", named("a", "b"), "as in the SDKs of all languages")
	require.Equal(t, named("a", "b"), named("b", "a"))
	require.NotEqual(t, named("a", "b"), named("a"))
}

func TestAMailboxRefusesBadOptions(t *testing.T) {
	client, err := Dial(Options{Server: "127.0.0.1:1", APIKey: "k"})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for field, options := range map[string]MailboxOptions{
		"MailboxOptions.Agent": {}, "MailboxOptions.MaxChars": {Agent: "a", MaxChars: 1999}, "MailboxOptions.Channels": {Agent: "a", Channels: []string{}},
	} {
		_, err := client.Mailbox(options)
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, field)
	}
	mailbox, err := client.Mailbox(MailboxOptions{Agent: "a"})
	require.NoError(t, err)
	require.NoError(t, mailbox.Close(t.Context()))
	_, err = mailbox.Take(t.Context(), 0)
	require.ErrorIs(t, err, errMailboxClosed)
}
