package wake

import "sync"

// maxNotes bounds the topics that are noted. They are those that a group listens under, and further intents.
const maxNotes = 100_000

// notes are the topics under which a group was woken since somebody looked.
type notes struct {
	mutex  sync.Mutex
	topics map[any]struct{}
	all    bool
}

// add notes a topic; nil stands for all.
func (n *notes) add(topic any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	switch {
	case topic == nil:
		n.all, n.topics = true, nil
	case n.all:
	case len(n.topics) >= maxNotes:
		n.all, n.topics = true, nil
	case n.topics == nil:
		n.topics = map[any]struct{}{topic: {}}
	default:
		n.topics[topic] = struct{}{}
	}
}

// take empties the notes.
func (n *notes) take() (topics map[any]struct{}, all bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	topics, all = n.topics, n.all
	n.topics, n.all = nil, false
	return topics, all
}
