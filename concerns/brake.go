package concerns

import (
	"fmt"
	"strconv"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/writing"
)

// brake finds conversations in which agents are braked.
type brake struct{}

const brakeKind = openintentv1.ConcernKind_CONCERN_KIND_BRAKE

// lanes are the places where agents were braked lately, in all intents or in those of the caller.
func (brake) lanes(l *look) ([]*lane, error) {
	var intentNos []int64
	switch {
	case l.intentNo != 0:
		intentNos = []int64{l.intentNo}
	case !l.operator():
		known, err := l.whose()
		if err != nil || len(known.reached) == 0 {
			return nil, err
		}
		intentNos = known.reached
	}
	return []*lane{whole(int64(brakeKind), func(found func(candidate)) database.Statement {
		return writing.PrepareStandingBrakes(l.tx, intentNos, func(b writing.StandingBrake) {
			found(candidate{place: place{
				since: database.Micros(b.ToldAt), major: b.IntentNo, minor: b.ChannelNo, text: strconv.FormatInt(b.Root, 10),
			}, row: b})
		})
	})}, nil
}

// judge keeps those that still last, in channels that the caller manages or whose intents it administers.
func (brake) judge(l *look, some []candidate) ([]*concern, error) {
	channels, err := l.channelsOf(some)
	if err != nil {
		return nil, err
	}
	found := make([]*concern, len(some))
	var tell []func()
	var statements []database.Statement
	for i, c := range some {
		b, in := c.row.(writing.StandingBrake), channels[i]
		if in == nil || !l.looksAfter(in) {
			continue
		}
		read, until := b.PrepareUntil(in.Channel, in.Now)
		var root *message.Message
		if b.Root != 0 {
			read = append(read, messageAt(l.by.Agent, b.IntentNo, b.Root, &root))
		}
		statements = append(statements, read...)
		tell = append(tell, func() {
			if at := until(); !at.IsZero() && !in.Closed() {
				found[i] = l.asBrake(c, in, root)
				found[i].summary += fmt.Sprintf(" until %s.", moment(at))
			}
		})
	}
	if err := l.tx.Pipeline(statements...); err != nil {
		return nil, err
	}
	for _, one := range tell {
		one()
	}
	return found, nil
}

// looksAfter reports whether a brake on the channel concerns the caller.
func (l *look) looksAfter(in *reading.Snapshot) bool {
	if !l.by.Scope.CoversChannel(in.Channel.IntentID, in.Channel.ID) {
		return false
	}
	return in.Channel.Manages(l.by.Agent, l.operator(), in.Access, in.Now) ||
		l.by.Scope.CoversIntent(in.Channel.IntentID) && in.Access.Given(l.by.Agent, l.operator(), in.Now) >= intents.PermissionAdmin
}

func (l *look) asBrake(c candidate, in *reading.Snapshot, root *message.Message) *concern {
	one := &concern{
		kind: brakeKind, since: database.Time(c.since), of: in.Channel.ID + "\x00" + c.text, intentID: in.Channel.IntentID, channelID: in.Channel.ID,
	}
	one.summary = fmt.Sprintf("Agents have set each other to work too often on channel %q, and are braked", in.Channel.Name)
	if c.text != "0" {
		one.summary = fmt.Sprintf("Agents have set each other to work too often in a thread on channel %q, and are braked", in.Channel.Name)
	}
	viewer, named := in.Viewer(l.by.Agent, l.operator()), c.text == "0"
	if viewer.Sees(root, message.ByID, in.Count.Floor, in.Now) {
		one.messageID, named = root.ID, true
	}
	manages := in.Channel.RequireManager(l.by, in.Access, in.Now) == nil
	one.may(openintentv1.ConcernAction_CONCERN_ACTION_LIFT, !l.by.ReadOnly && named && (manages || l.by.SpeaksAsHuman() && viewer.Participates))
	return one
}

// channelsOf returns the snapshots of the channels that candidates name by their numbers; nil for one that is gone.
func (l *look) channelsOf(some []candidate) ([]*reading.Snapshot, error) {
	intentNos, places := make([]int64, len(some)), make([]*message.Message, len(some))
	for i, c := range some {
		intentNos[i], places[i] = c.major, &message.Message{IntentNo: c.major, ChannelNo: c.minor}
	}
	statement, heads := intents.PrepareHeads(l.tx, database.Distinct(intentNos))
	if err := l.tx.Pipeline(statement); err != nil {
		return nil, err
	}
	snapshots, err := l.reader.Snapshots(l.tx, heads(), map[string]agents.Presence{l.by.Agent: l.presence})
	if err != nil {
		return nil, err
	}
	err = snapshots.Include(places)
	found := make([]*reading.Snapshot, len(some))
	for i, m := range places {
		found[i] = snapshots.Of(m)
	}
	return found, err
}

// messageAt reads a message without its content.
func messageAt(agent string, intentNo, position int64, found **message.Message) database.Statement {
	return database.Statement{
		SQL:  "SELECT " + message.FactColumns + " FROM messages m WHERE m.intent_no = ? AND m.position = ?",
		Args: message.ViewedBy(agent, intentNo, position),
		Scan: func(row database.Row) (err error) {
			*found, err = message.ScanFacts(row)
			return err
		},
	}
}
