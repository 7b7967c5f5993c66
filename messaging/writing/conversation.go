package writing

import (
	"cmp"
	"strings"
	"unicode"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/messaging/message"
)

// This file holds the rules of what a message says beyond RFC-0021: its parent and thread, its subject, kind, task and priority,
// and what its sender asks for. How many answers a request wants stands in wanted_answers.go, and whom a message mentions in mentions.go.
// SetConversation and checkConversation decide what the draft alone decides, converse what takes the state under the lock.

// Conversing is what every request that sends says of its message's conversation.
type Conversing interface {
	GetParentId() string
	GetSubject() string
	GetKind() string
	GetTaskId() string
	GetPriority() openintentv1.Priority
	GetMentions() *structpb.ListValue
	GetDirectedness() openintentv1.Directedness
	GetPolicy() openintentv1.ResponsePolicy
}

// Obliging is what the requests that may carry an obligation say of it.
type Obliging interface {
	GetObligation() *openintentv1.Obligation
}

// errParentUnknown fits a message that is not there as well as one that the sender may not see.
var errParentUnknown = fault.BadField("parent_id",
	"there is no such message for this sender on this channel; give the id of a message that it can see")

// errTaskUnknown fits a task that is not there as well as one that the sender may not see.
var errTaskUnknown = fault.BadField("task_id",
	"there is no such task of the intent for this sender; give the id of a task that it can see")

// SetConversation reads what the sender says of the conversation. The draft has its content by then, for names are found there.
func (d *Draft) SetConversation(req Conversing) (err error) {
	given := message.Conversation{
		ParentID: req.GetParentId(), Subject: req.GetSubject(), Kind: req.GetKind(), TaskID: req.GetTaskId(),
		Priority:     message.PriorityFrom(req.GetPriority()),
		Directedness: req.GetDirectedness(), Policy: req.GetPolicy(),
	}
	if asking, ok := req.(interface{ GetCollect() *structpb.Value }); ok {
		if given.Collect, err = collectFrom(asking.GetCollect()); err != nil {
			return err
		}
	}
	if obliging, ok := req.(Obliging); ok {
		given.Obligation = message.ObligationFrom(obliging.GetObligation())
	}
	if documenting, ok := req.(*openintentv1.SendMessageRequest); ok {
		given.Document, d.replaces = documenting.GetDocument(), documenting.Replaces
	}
	if fenced, ok := req.(interface{ GetFence() int64 }); ok {
		d.fence = fenced.GetFence()
	}
	if list := req.GetMentions(); list != nil {
		given.MentionsGiven = true
		given.Mentions, err = MentionsFrom(list)
	} else {
		d.words = message.WordsWithAt(d.payload)
	}
	if !given.Empty() {
		d.given = &given
	}
	return err
}

// checkConversation decides what of the conversation the draft alone decides.
func (d *Draft) checkConversation() error {
	if err := d.checkDocument(); err != nil || d.given == nil {
		return err
	}
	if d.MessageType == message.TypeResponse && d.given.ParentID != "" && d.given.ParentID != d.CorrelationID {
		return fault.BadField("parent_id", "a response belongs under its request; give the request's id or leave it out")
	}
	if err := cmp.Or(d.checkCollect(), d.checkObligation()); err != nil {
		return err
	}
	return cmp.Or(CheckLine("subject", d.given.Subject), CheckLine("kind", d.given.Kind))
}

// CheckLine refuses what is not one line of text.
func CheckLine(field, text string) error {
	if err := caller.CheckText(field, text); err != nil {
		return err
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fault.BadField(field, "it must be one line of text, without control characters")
	}
	return nil
}

// parentID names the message whose state decides the draft's thread. A response's parent is its request, which is read anyway.
func (d *Draft) parentID() string {
	if d.given == nil || d.MessageType == message.TypeResponse || !message.IsID(d.given.ParentID) {
		return ""
	}
	return d.given.ParentID
}

// taskID names the task that the draft is about.
func (d *Draft) taskID() string {
	if d.given == nil {
		return ""
	}
	return d.given.TaskID
}

// converse decides what the admitted draft's message carries beyond RFC-0021, and refuses a parent or a task that the sender may
// not see. Most messages carry nothing, and then nothing is asked.
func (s situation) converse(d *Draft, viewer message.Viewer) error {
	d.conversation = d.given
	var parent *message.Message
	switch {
	case d.MessageType == message.TypeResponse && (d.given != nil && d.given.ParentID != "" || s.request.NamesThread()):
		parent = s.request
	case d.MessageType != message.TypeResponse && d.given != nil && d.given.ParentID != "":
		if parent = s.parent; !s.showsParent(viewer) {
			return errParentUnknown
		}
	}
	if d.taskID() != "" && !s.showsTask(d) {
		return errTaskUnknown
	}
	if err := cmp.Or(s.checkOwed(d), s.checkReplaced(d)); err != nil {
		return err
	}
	mentions := s.mentioned(d.words, d.By.Scope)
	if parent == nil && len(mentions) == 0 {
		return nil
	}
	var stored message.Conversation
	if d.given != nil {
		stored = *d.given
	}
	if parent != nil {
		stored.ParentID = parent.ID
		stored.ThreadID, stored.ThreadPosition = parent.Thread()
	}
	if len(mentions) > 0 {
		stored.Mentions = mentions
	}
	d.conversation = &stored
	return nil
}

// showsParent reports whether the draft's parent is a message of this channel that its sender may see now. Below a request with an
// obligation one may write even when its time is over, or when it was evicted and the obligation keeps it: so a late answer has a place.
func (s situation) showsParent(viewer message.Viewer) bool {
	return viewer.Sees(s.parent, message.Current, s.count.Floor, s.now) && s.parent.Key() == s.channel.Key
}

// showsTask reports whether the draft's task is one of the intent and its sender may see it: that takes read access, which guests
// lack, and a key that works in the whole intent.
func (s situation) showsTask(d *Draft) bool {
	return s.taskFound && s.access.Require(d.By, d.Sender, intents.PermissionRead, s.now) == nil &&
		d.By.Scope.CoversIntent(s.access.IntentID())
}

// checkNew refuses what cannot be said on a channel that the draft is about to create.
func (s situation) checkNew(d *Draft) error {
	if d.given != nil && d.given.ParentID != "" {
		return errParentUnknown
	}
	if err := s.checkOwed(d); err != nil {
		return err
	}
	if d.taskID() != "" && !s.showsTask(d) {
		return errTaskUnknown
	}
	return nil
}
