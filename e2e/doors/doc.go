// Package doors tests that agents of all protocols meet: one conversation on one channel, through every door at a time, on each engine. The
// packages mcp, c2a, agentchannel and repomesh test each door by itself.
package doors
