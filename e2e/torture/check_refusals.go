package torture

// checkRefusals checks that a message to an agent is stored only if the agent did not refuse its sender all the time, and that it is
// refused for that reason only if the agent did not welcome its sender all the time. Agents for whose messages no right to be welcome is
// recorded are always welcome.
func (c *checker) checkRefusals() {
	c.history.each(func(send *Send) {
		if c.rights.granted[claim{send.Sender, Welcome, send.To}] == nil {
			if send.Unwelcome {
				c.find(Problem, "%q was refused, although %s refuses nobody", send.Content, send.To)
			}
			return
		}
		welcome := func(surely bool) []period {
			return c.rights.held(question{agent: send.Sender, surely: surely}, Welcome, send.To)
		}
		if send.Acknowledged && !sometime(welcome(false), send.Span.Begun, send.Span.Ended) {
			c.find(Leaked, "%q was stored, although %s refused %s the whole time", send.Content, send.To, send.Sender)
		}
		if send.Unwelcome && throughout(welcome(true), send.Span.Begun, send.Span.Ended) {
			c.find(Problem, "%q was refused, although %s welcomed %s the whole time", send.Content, send.To, send.Sender)
		}
	})
}
