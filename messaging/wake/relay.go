package wake

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"openintent/channels"
	"openintent/internal/database"
)

// relayChannel is the channel on which the replicas on one database notify one another.
const relayChannel = "openintent_wakes"

// NewRelay carries wake-ups between the replicas on one database: it tells the others of this hub's wake-ups, and the hub
// of theirs. When it loses one, those who wait for it look again at the next tick of their slow timer.
func NewRelay(db *database.DB, logger *slog.Logger, observe func(sent, received int), h *Hub) *database.Notifier {
	relay := db.Notifier(database.NotifierConfig{
		Channel: relayChannel,
		Heard:   h.heardFrom,
		Unheard: h.wakeAll,
		Observe: observe,
		Logger:  logger,
	})
	h.tell = func(topics []any) { relay.Tell(noticesOf(topics)...) }
	return relay
}

// These are the kinds of topics; each is the first letter of its notices. Numbers follow in base 36, names as they are. A
// replica of another version may send kinds that this one does not know: nobody here listens for those.
const (
	channelNotice      = 'c'
	closingNotice      = 'x'
	requestNotice      = 'r'
	intentNotice       = 'i'
	feedNotice         = 'f'
	agentNotice        = 'a'
	audienceNotice     = 'u'
	subscriptionNotice = 's'
	leaseNotice        = 'l'
	newsNotice         = 'p'
	reachedNotice      = 'n'
)

// News is a topic that nobody listens under: what it says is for whoever has asked for news (Hub.OnNews).
type News string

// OnNews sets who hears what another replica has told by Tell. It must be called before the relay begins.
func (h *Hub) OnNews(fn func(news string)) { h.news = fn }

// Tell tells something to the other replicas, which may miss it. It returns false if there is nobody to tell.
func (h *Hub) Tell(news string) bool {
	if h.tell == nil {
		return false
	}
	h.tell([]any{News(news)})
	return true
}

// heardFrom takes notices of another replica.
func (h *Hub) heardFrom(notices []string) {
	topics := topicsOf(notices)
	for _, topic := range topics {
		if news, is := topic.(News); is && h.news != nil {
			h.news(string(news))
		}
	}
	h.wakeHere(topics...)
}

func noticesOf(topics []any) []string {
	notices := make([]string, 0, len(topics))
	for _, topic := range topics {
		notices = append(notices, noticeOf(topic))
	}
	return notices
}

// noticeOf writes a topic as text. Every type of topic has a notice.
func noticeOf(topic any) string {
	switch topic := topic.(type) {
	case channels.Key:
		return keyNotice(channelNotice, topic)
	case ClosingTopic:
		return keyNotice(closingNotice, channels.Key(topic))
	case RequestTopic:
		return string(requestNotice) + string(topic)
	case IntentTopic:
		return numberNotice(intentNotice, int64(topic))
	case FeedTopic:
		return numberNotice(feedNotice, int64(topic))
	case SubscriptionTopic:
		return numberNotice(subscriptionNotice, int64(topic))
	case LeaseTopic:
		return numberNotice(leaseNotice, int64(topic))
	case AgentTopic:
		return string(agentNotice) + string(topic)
	case AudienceTopic:
		return string(audienceNotice) + string(topic)
	case News:
		return string(newsNotice) + string(topic)
	case Reached:
		return numberNotice(reachedNotice, topic.IntentNo) + "." + string(topic.Audience)
	}
	panic(fmt.Sprintf("messaging: the relay knows no topics of type %T", topic))
}

const noticeBase = 36

func numberNotice(kind byte, number int64) string {
	return string(strconv.AppendInt([]byte{kind}, number, noticeBase))
}

func keyNotice(kind byte, key channels.Key) string {
	text := strconv.AppendInt([]byte{kind}, key.IntentNo, noticeBase)
	return string(strconv.AppendInt(append(text, '.'), key.ChannelNo, noticeBase))
}

// topicsOf reads notices, and leaves out those that it does not know, and those about an audience beside which another one says which intent
// began to reach it, as programs of release 0.2 send them together.
func topicsOf(notices []string) []any {
	topics, told := make([]any, 0, len(notices)), make(map[any]struct{})
	for _, notice := range notices {
		topic := topicOf(notice)
		if reached, is := topic.(Reached); is {
			told[reached.Audience] = struct{}{}
		}
		if topic != nil {
			topics = append(topics, topic)
		}
	}
	return slices.DeleteFunc(topics, func(topic any) bool {
		_, dropped := told[topic]
		return dropped
	})
}

// topicOf is the reverse of noticeOf. It returns nil for a notice of an unknown kind.
func topicOf(notice string) any {
	if notice == "" {
		return nil
	}
	switch kind, rest := notice[0], notice[1:]; kind {
	case requestNotice:
		return RequestTopic(rest)
	case agentNotice:
		return AgentTopic(rest)
	case audienceNotice:
		return AudienceTopic(rest)
	case newsNotice:
		return News(rest)
	case reachedNotice:
		intentNo, audience, _ := strings.Cut(rest, ".")
		if no := noticeNumber(intentNo); no != 0 {
			return Reached{AudienceTopic(audience), no}
		}
		return nil
	case channelNotice, closingNotice:
		intentNo, channelNo, _ := strings.Cut(rest, ".")
		key := channels.Key{IntentNo: noticeNumber(intentNo), ChannelNo: noticeNumber(channelNo)}
		switch {
		case key.IntentNo == 0 || key.ChannelNo == 0:
			return nil
		case kind == closingNotice:
			return ClosingTopic(key)
		}
		return key
	case intentNotice, feedNotice, subscriptionNotice, leaseNotice:
		number := noticeNumber(rest)
		switch {
		case number == 0:
			return nil
		case kind == feedNotice:
			return FeedTopic(number)
		case kind == subscriptionNotice:
			return SubscriptionTopic(number)
		case kind == leaseNotice:
			return LeaseTopic(number)
		}
		return IntentTopic(number)
	}
	return nil
}

// noticeNumber reads a number. All numbers are above 0, so it returns 0 for a text that is none.
func noticeNumber(text string) int64 {
	number, err := strconv.ParseInt(text, noticeBase, 64)
	if err != nil || number < 0 {
		return 0
	}
	return number
}
