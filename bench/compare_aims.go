package main

import "fmt"

// aim is a ratio that the design must reach.
type aim struct {
	name     string
	bound    float64
	atMost   bool
	measured func(*figures) (float64, bool)
}

func atLeast(bound float64, name string, measured func(*figures) (float64, bool)) aim {
	return aim{name: name, bound: bound, measured: measured}
}

func atMost(bound float64, name string, measured func(*figures) (float64, bool)) aim {
	return aim{name: name, bound: bound, atMost: true, measured: measured}
}

// rates returns the ratio of two rates, and times returns the ratio of two medians.
func rates(a, b row, callers int) func(*figures) (float64, bool) {
	return func(f *figures) (float64, bool) { return f.ratio(a, callers, b, callers, rate) }
}

func times(a, b row, callers int) func(*figures) (float64, bool) {
	return func(f *figures) (float64, bool) { return f.ratio(a, callers, b, callers, medianSeconds) }
}

// aims lists the aims of a run; some depend on the run's sizes.
func (c *comparison) aims() []aim {
	sent := row{doSend, viaGRPC + "postgres", oneChannel}
	asked := row{doAsk, viaGRPC + "postgres", oneChannel}
	slow := row{doSend, viaGRPC + "postgres", slowFlush}
	streams := c.streams[len(c.streams)-1]
	aims := []aim{
		atLeast(1.2, "send, 64 callers, one channel: times JetStream with sync always", rates(sent, row{doSend, streamAlways, oneChannel}, 64)),
		atLeast(8, "send, 64 callers, one channel: times the published server", rates(sent, row{doSend, published, oneChannel}, 64)),
		atLeast(0.4, "send, 64 callers, one channel: of the bare group commit", rates(sent, row{doSend, bareInsert, oneChannel}, 64)),
		atLeast(0.6, "send, 64 callers, one channel: REST of gRPC", rates(row{doSend, viaREST + "postgres", oneChannel}, sent, 64)),
		atLeast(0.7, "send, 64 callers: many channels of one", rates(row{doSend, viaGRPC + "postgres", manyChannels}, sent, 64)),
		atLeast(20, "send, 64 callers, flush of 1 ms more: times one transaction a message",
			rates(slow, row{doSend, perMessage + "postgres", slowFlush}, 64)),
		atMost(2, "ask, 1 caller: p50, times its floor", func(f *figures) (float64, bool) {
			median, asked := f.median(asked, 1, medianSeconds)
			floor, ok := f.floor()
			return median / floor, ok && asked
		}),
		atLeast(1, "ask, 64 callers: times JetStream with sync always", rates(asked, row{doAsk, streamAlways, "-"}, 64)),
		atLeast(200, "ask, 1 caller: p50 of the published client's ask, times ours", times(row{doAsk, publishedSDK, oneChannel}, asked, 1)),
		atLeast(0.5, fmt.Sprintf("fan-out to %d streams: of one with nothing stored", streams),
			rates(row{doFanOut, viaGRPC + "postgres", oneChannel}, row{doFanOut, nothingStored, oneChannel}, streams)),
		atMost(1.5, "idle stream of a channel: memory, times that of bare gRPC",
			rates(row{doIdle, viaGRPC + "sqlite", oneChannel}, row{doIdle, nothingStored, oneChannel}, streams)),
		atMost(1.5, "idle stream of an agent: memory, times that of bare gRPC",
			rates(row{doIdle, viaGRPC + "sqlite", followingOneself}, row{doIdle, nothingStored, oneChannel}, streams)),
		atLeast(0.95, "send, 64 callers: notifications on, of off", rates(
			row{doNotified, viaGRPC + "postgres", switchedOn}, row{doNotified, viaGRPC + "postgres", switchedOff}, notifying)),
	}
	for _, engine := range c.engines {
		aims = append(aims,
			streamedAim(engine),
			atLeast(0.6, "send, 64 callers: audit on, of off, "+engine, rates(
				row{doAudited, viaGRPC + engine, switchedOn}, row{doAudited, viaGRPC + engine, switchedOff}, notifying)),
			c.flatLists(inLong, engine), c.flatLists(inShort, engine))
	}
	for _, engine := range c.engines {
		aims = append(aims, agentAims(engine)...)
		aims = append(aims, exchangeAims(engine)...)
		aims = append(aims, c.broadcastAims(engine)...)
	}
	return append(aims, sqliteAims()...)
}

// streamedAim compares sends on streams with unary sends by 64 callers.
func streamedAim(engine string) aim {
	streams := busyStreams[len(busyStreams)-1]
	name := fmt.Sprintf("send, one channel: on %d streams, times 64 unary callers, %s", streams, engine)
	return atLeast(2.5, name, func(f *figures) (float64, bool) {
		return f.ratio(row{doStream, viaStream + engine, oneChannel}, streams, row{doSend, viaGRPC + engine, oneChannel}, 64, rate)
	})
}

// flatLists compares lists among the largest number of messages with lists on the server that has the fewest.
func (c *comparison) flatLists(where, engine string) aim {
	sizes := tens(shortHistory, c.messages)
	name := fmt.Sprintf("list %d after a cursor, %s: p50 among %d messages, times among %d, %s", listed, where, sizes[len(sizes)-1],
		shortHistory, engine)
	list, alone := row{doList, viaGRPC + engine, where}, row{doList, viaGRPC + engine, inOnly}
	return atMost(1.3, name, times(list, alone, sizes[len(sizes)-1]))
}

// sqliteAims require SQLite to be at least as fast as PostgreSQL.
func sqliteAims() (aims []aim) {
	add := func(name string, of func(a, b row, callers int) func(*figures) (float64, bool), what, via, where string, callers int) {
		sqlite, postgres := row{what, via + "sqlite", where}, row{what, via + "postgres", where}
		measured := rates(sqlite, postgres, callers)
		if of != nil {
			measured = of(postgres, sqlite, callers)
		}
		aims = append(aims, atLeast(1, "SQLite, times PostgreSQL: "+name, measured))
	}
	add("send, 64 callers, one channel, gRPC", nil, doSend, viaGRPC, oneChannel, 64)
	add("send, 64 callers, one channel, REST", nil, doSend, viaREST, oneChannel, 64)
	add("send, 64 callers, many channels, gRPC", nil, doSend, viaGRPC, manyChannels, 64)
	add("ask, 1 caller, p50", times, doAsk, viaGRPC, oneChannel, 1)
	add("ask, 64 callers", nil, doAsk, viaGRPC, oneChannel, 64)
	add("fan-out to 100 streams", nil, doFanOut, viaGRPC, oneChannel, 100)
	add("list in a short channel, p50", times, doList, viaGRPC, inOnly, shortHistory)
	return aims
}

// judge returns a line of the table of aims.
func (a aim) judge(f *figures) []string {
	bound := "at least "
	if a.atMost {
		bound = "at most "
	}
	bound += short(a.bound)
	value, ok := a.measured(f)
	switch {
	case !ok:
		return []string{a.name, bound, "-", "not measured"}
	case a.atMost && value <= a.bound, !a.atMost && value >= a.bound:
		return []string{a.name, bound, short(value), "met"}
	}
	return []string{a.name, bound, short(value), "**not met**"}
}
