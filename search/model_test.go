package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// said is a message as the model has it: its words, and who may see it. at is when it was sent, and changed when it last changed.
type said struct {
	id, sender, to, channel string
	words                   []string
	at, changed             time.Time
}

// model is a plain search: it goes through all messages and compares words.
type model struct {
	messages []said
	members  map[string][]string
}

// finds returns the ids of what an agent should find, the newest first. A query is a list of phrases.
func (m *model) finds(agent string, query [][]string, channel, sender string) (ids []string) {
	for _, one := range slices.Backward(m.messages) {
		sees := one.sender == agent || one.to == agent || one.to == caller.Broadcast
		if members := m.members[one.channel]; members != nil && !slices.Contains(members, agent) {
			sees = false
		}
		if !sees || channel != "" && one.channel != channel || sender != "" && one.sender != sender {
			continue
		}
		if !slices.ContainsFunc(query, func(phrase []string) bool { return !one.says(phrase) }) {
			ids = append(ids, one.id)
		}
	}
	return ids
}

func (s said) says(phrase []string) bool {
	return strings.Contains(" "+strings.Join(s.words, " ")+" ", " "+strings.Join(phrase, " ")+" ")
}

// Random messages, edits, deletions, searches, pieces and runs of the index, some of which fail, and weeks in which nobody searches: at
// the end, and at each point at which the index is up to date, searches find what the model finds. At each other point they find it within
// the time for which they say that it is indexed.
func TestSearchesFindWhatAPlainModelFinds(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		databasetest.SearchBriefly(t)
		rapid.Check(t, func(rt *rapid.T) {
			w := &modelled{house: h, t: t, rt: rt, model: model{members: map[string][]string{}}}
			w.indexer.together = rapid.IntRange(2, 8).Draw(rt, "together")
			w.indexer.most = int64(rapid.IntRange(1, 8).Draw(rt, "most"))
			w.start()
			for range rapid.IntRange(1, 25).Draw(rt, "steps") {
				w.step()
			}
			h.index(t)
			w.compare()
		})
	})
}

// modelled is a run beside the model, in an intent of its own.
type modelled struct {
	*house
	model
	t        *testing.T
	rt       *rapid.T
	in       string
	channels []string
}

var people = []string{"ada", "bob", "cleo"}

func (w *modelled) start() {
	w.in = w.newIntent(w.t).GetId()
	for i, members := range [][]string{nil, {"ada", "bob"}} {
		req := &openintentv1.CreateChannelRequest{IntentId: w.in, Name: fmt.Sprint("c", i), Members: members}
		if members != nil {
			req.MemberPolicy = pointer(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT)
		}
		channel := w.newChannel(w.t, req)
		w.channels = append(w.channels, channel.GetId())
		if members != nil {
			w.members[channel.GetId()] = append(members, "creator")
		}
	}
}

func (w *modelled) text(label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "three", "four"}), 1, 5).Draw(w.rt, label)
}

func (w *modelled) step() {
	w.clock.Advance(time.Millisecond)
	switch rapid.IntRange(0, 14).Draw(w.rt, "step") {
	default:
		channel := rapid.SampledFrom(w.channels).Draw(w.rt, "channel")
		sender, to := "ada", "bob"
		if rapid.Bool().Draw(w.rt, "bob sends") {
			sender, to = to, sender
		}
		if rapid.Bool().Draw(w.rt, "to everyone") {
			to = caller.Broadcast
		}
		words := w.text("words")
		m := w.send(w.t, sender, &openintentv1.SendMessageRequest{
			ChannelId: channel, To: &to, Payload: payload(w.t, map[string]any{"text": strings.Join(words, " ")}),
		})
		at := m.GetCreatedAt().AsTime()
		w.messages = append(w.messages, said{m.GetId(), sender, to, channel, words, at, at})
	case 6, 7:
		if len(w.messages) == 0 {
			return
		}
		m := &w.messages[rapid.IntRange(0, len(w.messages)-1).Draw(w.rt, "edited")]
		if m.words == nil {
			return
		}
		if rapid.Bool().Draw(w.rt, "deleted") {
			m.words, m.changed = nil, w.changeAt()
			_, err := w.talk.DeleteMessage(as(m.sender), &openintentv1.DeleteMessageRequest{ChannelId: m.channel, MessageId: m.id})
			require.NoError(w.t, err)
			return
		}
		m.words, m.changed = w.text("edit"), w.changeAt()
		_, err := w.talk.UpdateMessage(as(m.sender), &openintentv1.UpdateMessageRequest{
			ChannelId: m.channel, MessageId: m.id, Payload: payload(w.t, map[string]any{"text": strings.Join(m.words, " ")}),
		})
		require.NoError(w.t, err)
	case 8:
		w.index(w.t)
		w.compare()
	case 9:
		_ = w.Index(context.Background())
		w.faults.FailBefore(rapid.IntRange(1, 20).Draw(w.rt, "failures"))
		_ = w.Index(context.Background())
		w.faults.FailBefore(0)
	case 10, 11, 12:
		w.compareIndexed()
	case 13:
		w.pieces()
	case 14:
		w.clock.Advance(keptFor + time.Microsecond)
	}
}

// changeAt returns a time right after the change that comes next.
func (w *modelled) changeAt() time.Time {
	return w.clock.Advance(time.Millisecond).Add(time.Millisecond / 2)
}

// pieces indexes some pieces of what is kept, which may fail.
func (w *modelled) pieces() {
	for range rapid.IntRange(1, 3).Draw(w.rt, "pieces") {
		w.faults.FailBefore(rapid.SampledFrom([]int{0, 0, 1, 20}).Draw(w.rt, "failures"))
		behind, err := w.indexer.kept(w.t.Context(), w.now())
		if err == nil && len(behind) > 0 {
			_, _ = w.indexer.index(w.t.Context(), behind[:min(readIntents, len(behind))], w.indexer.most)
		}
		w.faults.FailBefore(0)
		w.compareIndexed()
	}
}

// compareIndexed compares searches within the time for which they say that everything is indexed. What changed later may be found or not.
func (w *modelled) compareIndexed() {
	for _, agent := range people {
		word := rapid.SampledFrom([]string{"one", "two", "three"}).Draw(w.rt, "word")
		req := &openintentv1.SearchMessagesRequest{Q: word, IntentId: &w.in}
		page, err := w.SearchMessages(as(agent), req)
		require.NoError(w.t, err)
		if page.GetCompleteThrough() == nil {
			require.Positive(w.t, page.GetMessagesLeft())
			continue
		}
		from, through := time.Time{}, page.GetCompleteThrough().AsTime()
		if page.GetCompleteFrom() != nil {
			require.Positive(w.t, page.GetMessagesLeft())
			from = page.GetCompleteFrom().AsTime()
		}
		var judged []string
		for _, m := range w.messages {
			if !m.at.Before(from) && m.changed.Before(through) {
				judged = append(judged, m.id)
			}
		}
		others := func(id string) bool { return !slices.Contains(judged, id) }
		require.Equal(w.t, slices.DeleteFunc(append([]string{}, w.model.finds(agent, [][]string{{word}}, "", "")...), others),
			slices.DeleteFunc(append([]string{}, w.ids(w.t, as(agent), req)...), others),
			"%s looks for %s between %s and %s", agent, word, from, through)
	}
}

// compare compares some searches.
func (w *modelled) compare() {
	for range 3 {
		agent := rapid.SampledFrom(people).Draw(w.rt, "agent")
		query := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "three", "five"}), 1, 3), 1, 2).Draw(w.rt, "query")
		var q []string
		for _, phrase := range query {
			q = append(q, `"`+strings.Join(phrase, " ")+`"`)
		}
		req := &openintentv1.SearchMessagesRequest{Q: strings.Join(q, " "), IntentId: &w.in}
		channel, sender := "", ""
		if rapid.Bool().Draw(w.rt, "in one channel") {
			channel = rapid.SampledFrom(w.channels).Draw(w.rt, "channel")
			req.ChannelId = &channel
		}
		if rapid.Bool().Draw(w.rt, "from one") {
			sender = rapid.SampledFrom(people).Draw(w.rt, "from")
			req.Sender = &sender
		}
		require.Equal(w.t, w.model.finds(agent, query, channel, sender), w.ids(w.t, as(agent), req), "%s looks for %s", agent, req.GetQ())
	}
}

// Two replicas fill one index while messages are sent and removed. Nothing is there twice, nothing is missing, nothing stays.
func TestTwoReplicasFillOneIndex(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		replicas := []rooms{h.rooms}
		if h.db.Engine() == database.PostgreSQL {
			replicas = append(replicas, h.replica(t, false))
		}
		done := make(chan struct{})
		stopped := make(chan error, len(replicas))
		for _, r := range replicas {
			go func() {
				for {
					if err := r.Index(context.Background()); err != nil {
						stopped <- err
						return
					}
					select {
					case <-done:
						stopped <- nil
						return
					default:
					}
				}
			}()
		}
		h.channel = h.newChannel(t, &openintentv1.CreateChannelRequest{
			Name: "small", Options: &openintentv1.ChannelOptions{MaxMessages: pointer(int64(100))},
		})
		for range 4 {
			h.sayMany(t, 128, "ada", "bob", "word")
			require.NoError(t, h.talk.Sweep(context.Background()))
		}
		close(done)
		for range replicas {
			require.NoError(t, <-stopped)
		}
		h.indexer = newIndexer(h.Service)
		h.index(t)
		require.Equal(t, 100, h.documents(t))
		require.Len(t, h.ids(t, as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"}), 100)
	})
}
