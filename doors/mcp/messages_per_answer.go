package mcp

// gathered are messages for one answer, as many as it holds.
type gathered struct {
	messages []messageAnswer
	bytes    int
}

// add adds a message, unless the answer is full. It takes the first message however large it is.
func (g *gathered) add(m messageAnswer) bool {
	size := len(inJSON(m))
	if len(g.messages) == messagesShown || len(g.messages) > 0 && g.bytes+size > answerRoom {
		return false
	}
	g.messages, g.bytes = append(g.messages, m), g.bytes+size
	return true
}
