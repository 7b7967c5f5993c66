package wake

// Group listens under topics for many members, so that a further member costs no more topics. A wake-up of the group wakes each member,
// with what was handed over if the member takes that. The group notes under which topics it was woken, and one reading of what happened
// there serves all members (Noted).
//
//	topic ──> group ──┬──> its notes
//	                  └──> each member
//
// A member may listen under topics of its own beside those of its group.
type Group struct {
	listener *Listener
	noted    notes
	// members may change while the group is woken, so the hub's mutex guards them.
	members map[*Listener]struct{}
}

// NewGroup makes a group that listens under the topics. It has no members yet. Call Close when done.
func (h *Hub) NewGroup(topics ...any) *Group {
	g := &Group{listener: &Listener{hub: h}, members: make(map[*Listener]struct{})}
	g.listener.is = g
	g.Also(topics...)
	return g
}

// Also listens under further topics.
func (g *Group) Also(topics ...any) { g.listener.Also(topics...) }

// Forget stops listening under some of the topics.
func (g *Group) Forget(topics ...any) { g.listener.Forget(topics...) }

// Close stops listening. The members go on under their own topics.
func (g *Group) Close() { g.listener.Close() }

// Join makes a listener a member, until the listener is closed. It may be a member of one group.
func (g *Group) Join(l *Listener) {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	l.of, g.members[l] = g, struct{}{}
}

// Noted returns the topics under which the group was woken since the last time. all is true when there is more than they say, because
// somebody asked all to look.
func (g *Group) Noted() (topics map[any]struct{}, all bool) { return g.noted.take() }

// Note notes topics once more, because what happened there could not be read.
func (g *Group) Note(topics map[any]struct{}) {
	for topic := range topics {
		g.noted.add(topic)
	}
}

// Wake wakes the group and its members under a topic, as if there had been a wake-up on this replica; nil stands for all topics.
func (g *Group) Wake(topic any) {
	g.listener.hub.mutex.Lock()
	defer g.listener.hub.mutex.Unlock()
	g.give(topic, nil)
}

// Rouse wakes the members, and notes nothing.
func (g *Group) Rouse() {
	g.listener.hub.mutex.Lock()
	defer g.listener.hub.mutex.Unlock()
	for member := range g.members {
		member.rouse(nil)
	}
}

// give notes a topic, and wakes the members with what was stored. The hub's mutex is held.
func (g *Group) give(topic any, stored *Handover) {
	g.noted.add(topic)
	for member := range g.members {
		member.rouse(stored)
	}
}

// GroupsOf returns the groups that listen under a topic.
func (h *Hub) GroupsOf(topic any) (groups []*Group) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for l := range h.listeners[topic] {
		if l.is != nil {
			groups = append(groups, l.is)
		}
	}
	return groups
}

// takes reports whether the listener, or a member of the group, takes what is handed over. The hub's mutex is held.
func (l *Listener) takes() bool {
	if l.is == nil {
		return !l.looks
	}
	for member := range l.is.members {
		if !member.looks {
			return true
		}
	}
	return false
}
