package backups

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// messages says how large the database is that is backed up.
var messages = flag.Int("backups.messages", 500, "how many messages are sent before the backup")

// crowd are senders that send all the time, and what was acknowledged to them, in order of the answers.
type crowd struct {
	channel string
	senders sync.WaitGroup
	stop    chan struct{}

	mutex sync.Mutex
	known []string
	took  []time.Duration
}

// start lets some agents send until end is called.
func start(t *testing.T, h *harness.Server, channel string, senders int) *crowd {
	c := &crowd{channel: channel, stop: make(chan struct{})}
	for range senders {
		c.senders.Go(func() {
			for {
				select {
				case <-c.stop:
					return
				default:
				}
				began := time.Now()
				m, err := h.As("alice").Messages.SendMessage(t.Context(), note(channel))
				if err != nil {
					t.Errorf("a send failed: %v", err)
					return
				}
				c.mutex.Lock()
				c.known, c.took = append(c.known, m.GetId()), append(c.took, time.Since(began))
				c.mutex.Unlock()
			}
		})
	}
	return c
}

// note is a message of some kilobytes to everyone.
func note(channel string) *openintentv1.SendMessageRequest {
	text := structpb.NewStringValue(strings.Repeat("word ", 400))
	return &openintentv1.SendMessageRequest{
		ChannelId: channel, To: proto.String("*"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(),
		Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"text": text}},
	}
}

// acknowledged returns the ids that were acknowledged so far.
func (c *crowd) acknowledged() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]string(nil), c.known...)
}

// await waits until so many more messages were acknowledged.
func (c *crowd) await(t *testing.T, more int) {
	t.Helper()
	before := len(c.acknowledged())
	require.Eventually(t, func() bool { return len(c.acknowledged()) >= before+more }, harness.Patience, checkEvery)
}

// pace says how long the sends took that were acknowledged from one number to another.
func (c *crowd) pace(from, to int) string {
	c.mutex.Lock()
	took := slices.Sorted(slices.Values(c.took[from:to]))
	c.mutex.Unlock()
	if len(took) == 0 {
		return "no sends"
	}
	return fmt.Sprintf("%d sends, half of them within %s, 99%% within %s, all within %s",
		len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}

func (c *crowd) end() []string {
	close(c.stop)
	c.senders.Wait()
	return c.acknowledged()
}

// all lists the ids of all messages of a channel, oldest first.
func all(t *testing.T, h *harness.Server, channel string) (ids []string) {
	t.Helper()
	cursor := proto.String("1970-01-01T00:00:00Z")
	for {
		list, err := h.As("alice").Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel, Since: cursor})
		require.NoError(t, err)
		if len(list.GetMessages()) == 0 {
			return ids
		}
		for _, m := range list.GetMessages() {
			ids = append(ids, m.GetId())
		}
		cursor = list.NextSince
	}
}

// A backup of a busy server has everything that was acknowledged before it began, and a server goes on with it as it was then.
func TestABackupUnderLoadIsRestored(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	w := fill(t, h)
	path := strings.TrimPrefix(h.DatabaseURL, "sqlite:")
	backup := filepath.Join(t.TempDir(), "backup.db")
	environment := []string{"DATABASE=" + path, "BACKUP=" + backup, "OPENINTENT_DATABASE_URL=" + h.DatabaseURL}

	load := start(t, h, w.channel(t), 8)
	load.await(t, *messages)
	before := load.acknowledged()
	said, err := follow(t, "back up a file", environment...)
	require.NoError(t, err, said)
	require.Regexp(t, `^copied .* into .*: [0-9]+ bytes in [0-9.]+m?s\n$`, said)
	after := load.acknowledged()
	t.Logf("%sbefore: %s\nduring: %s", said, load.pace(max(0, len(before)-5000), len(before)), load.pace(len(before), len(after)))
	said, err = follow(t, "back up a file", environment...)
	require.Error(t, err)
	require.Contains(t, said, "never overwrites")
	said, err = follow(t, "check a database", environment...)
	require.NoError(t, err, "beside the server: %s", said)
	load.await(t, 200)
	sent := load.end()
	ends := lastPosition(t, h, load.channel)
	whole := all(t, h, load.channel)
	require.Equal(t, slices.Sorted(slices.Values(sent)), slices.Sorted(slices.Values(whole)))

	h.Kill() // so that there is a -wal to remove
	said, err = follow(t, "restore a file", environment...)
	require.NoError(t, err, said)
	require.Contains(t, said, "the database keeps all")
	h.Start(t)
	kept := all(t, h, load.channel)
	require.Less(t, len(kept), len(whole))
	require.Equal(t, whole[:len(kept)], kept, "the log goes to some moment, without a gap")
	later := whole[len(kept):]
	require.False(t, slices.ContainsFunc(before, func(id string) bool { return slices.Contains(later, id) }),
		"what was acknowledged before the backup began is in it")
	require.GreaterOrEqual(t, len(kept), len(before))
	require.LessOrEqual(t, len(kept), len(after)+8, "a message that was not acknowledged yet may be in it")
	goesOn(t, h, load.channel, ends)
	said, err = follow(t, "check a database", environment...)
	require.NoError(t, err, said)
}

// goesOn checks what clients see of a restored database: who knows more than it is refused, and who sends is served.
func goesOn(t *testing.T, h *harness.Server, channel string, beyond int64) {
	t.Helper()
	stream, err := h.As("carol").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel}, AfterPosition: proto.Int64(beyond),
	})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, "CURSOR_BEYOND_LOG", harness.Reason(err), "%v", err)
	m, err := h.As("alice").Messages.SendMessage(t.Context(), note(channel))
	require.NoError(t, err)
	ids := all(t, h, channel)
	require.Equal(t, m.GetId(), ids[len(ids)-1])
}

// A database whose pages are damaged is found out, by the check and before it is served.
func TestCheckFindsADamagedFile(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	w := fill(t, h)
	load := start(t, h, w.channel(t), 4)
	load.await(t, 500)
	load.end()
	require.NoError(t, h.Stop())
	path := strings.TrimPrefix(h.DatabaseURL, "sqlite:")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	const page = 4096
	for at := len(content) / page / 2 * page; at < len(content)/page/2*page+10*page; at++ {
		content[at] ^= 0x55
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	said, err := follow(t, "check a database", "OPENINTENT_DATABASE_URL="+h.DatabaseURL)
	require.Error(t, err)
	require.NotContains(t, said, "the database keeps all")
}
