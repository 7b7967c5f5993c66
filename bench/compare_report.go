package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// promises list what is on the disk when each contestant acknowledges.
var promises = [][]string{
	{"this server, PostgreSQL", "yes: synchronous_commit on, fsync on", "numbered in its channel, checked against membership and limits, idempotency"},
	{"this server, SQLite", "yes: synchronous=FULL", "the same"},
	{"one transaction a message", "yes: as this server on PostgreSQL", "numbered under the channel's row lock; nothing is checked"},
	{"bare group commit", "yes: as this server on PostgreSQL", "numbered; nothing is checked, and no network to the callers"},
	{"pgbench, single-row insert", "yes: as this server on PostgreSQL", "a row; not numbered"},
	{"NATS JetStream, sync always", "yes: each message synced", "in a stream's order; an ask's request and answer are both stored and delivered from the stream"},
	{"NATS JetStream, default", "**no**: written to a file that is synced every two minutes; a crash of the machine loses what was acknowledged since", "the same"},
	{"NATS request/reply", "**no**: nothing is stored", "delivered at most once"},
	{"published Python server", "**no**: channels and messages are in one process's memory, and gone when it ends", "in the order of arrival; its SDK's ask lists the channel each half second"},
	{"gRPC, nothing stored", "**no**: nothing is stored", "the calls of this server alone: the floor"},
}

// section is a table of the results: the rows of one kind.
type section struct {
	title, note  string
	what, number string
	chosen       func(where string) bool
}

var sections = []section{
	{title: "Sends", note: "Messages of about 500 bytes, each caller waiting for its acknowledgement.", what: doSend,
		number: "callers", chosen: func(where string) bool { return where != slowFlush }},
	{title: "Sends on a slow disk", note: "A library preloaded into PostgreSQL lets each flush cost 1 ms more.", what: doSend,
		number: "callers", chosen: func(where string) bool { return where == slowFlush }},
	{title: "Sends on streams", note: fmt.Sprintf("The same messages; each stream has one sender and at most %d unanswered messages.", window),
		what: doStream, number: "streams"},
	{title: "Asks", note: "A question to an agent, and its answer.", what: doAsk, number: "callers"},
	{title: "Asks by the SDKs", note: fmt.Sprintf("A question to an agent that the same SDK runs (%d at once), and its answer. Asker and "+
		"agent are processes of their own; the published package's are one. The gRPC libraries alone make the calls of an ask, through a "+
		"server that stores nothing, from one process to another and back; or unary calls that the server answers by itself.", sdkConcurrency), what: doSDKAsk, number: "callers"},
	{title: "Sends by an SDK", note: "Messages of about 500 bytes through one client, each caller waiting until its message is stored. Bare calls " +
		"share one connection; JetStream's client publishes in its two ways.", what: doSDKSend, number: "callers"},
	{title: "Broadcasts to agents", note: "One sender's messages to everyone on a channel. A unit is one delivery, but p50 and p99 are those of a whole " +
		"broadcast, until every agent has it. An agent with a durable subscription acknowledges at once, on a stream of acknowledgements, and " +
		"its delivery counts then. Each second the server confirms what is stored of them. One broadcast, with which the streams begin, comes before the figures.", what: doBroadcast, number: "under way"},
	{title: "Broadcasts that are stored for each agent", note: "The same to the streams of agents' own logs, and to agents each of which fetches, " +
		"acknowledges and fetches again. A delivery to an agent that fetches counts when its acknowledgement is answered.", what: doStored, number: "under way"},
	{title: "Webhooks", note: "One sender's messages to everyone on a channel, which many agents' subscriptions post to one endpoint that answers at " +
		"once. A unit is one post, but p50 and p99 are those of a message until all have posted it.", what: doPost, number: "under way"},
	{title: "Single-row commits", what: singleCommit.what, number: "callers"},
	{title: "Fan-out", note: fmt.Sprintf("One sender, %d messages under way; a message counts when every stream has it.", underWay),
		what: doFanOut, number: "streams"},
	{title: "Lists", note: "A hundred messages after a cursor, one caller, while the table holds so many messages; alone: on a server that has no others.", what: doList,
		number: "messages"},
	{title: "Audit", what: doAudited, number: "callers"},
	{title: "Notifications", note: "While a second replica listens.", what: doNotified, number: "callers"},
	{title: "Growth", note: fmt.Sprintf("Sends by %d callers while the server has so many of something. Channels are sent to in turn; members "+
		"and messages are those of the one channel; agents are sent to in turn; events are those of the one intent's log, its channel audited.",
		growing), what: doGrow, number: "how many"},
}

// report writes the results, and prints them.
func (c *comparison) report(machine []fact) error {
	if err := os.MkdirAll(c.output, 0o755); err != nil { //nolint:gosec // results are for everybody
		return err
	}
	plots, err := c.plotGrowth()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, "# Results\n\nMade by `make bench-compare` on %s, in %s: every figure measured for %s in each of %d rounds, the "+
		"contestants taking turns. Figures are medians over the rounds, with the lowest and the highest; servers, databases and load share "+
		"the machine. Compare within the run: absolute figures are of this machine.\n\n",
		c.started.UTC().Format(time.DateTime+" UTC"), time.Since(c.started).Round(time.Second), c.duration, c.rounds)
	facts := make([][]string, len(machine))
	for i, f := range machine {
		facts[i] = []string{f.name, f.value}
	}
	writeTable(&page, []string{"what", "which"}, facts)
	for _, what := range c.leftOut {
		fmt.Fprintf(&page, "Left out: %s.\n\n", what)
	}
	page.WriteString("## Aims\n\nRatios are the medians of the rounds' ratios.\n\n")
	var judged [][]string
	for _, aim := range c.aims() {
		judged = append(judged, aim.judge(c.figures))
	}
	writeTable(&page, []string{"aim", "bound", "measured", ""}, judged)
	page.WriteString("## What is synced when a message is acknowledged\n\n")
	writeTable(&page, []string{"contestant", "synced", "what else it does"}, promises)
	for _, section := range sections {
		c.writeSection(&page, section)
	}
	c.writeIdle(&page)
	for _, plot := range plots {
		fmt.Fprintf(&page, "![%s](%s)\n\n", plot, plot)
	}
	text := append(bytes.TrimRight(page.Bytes(), "\n"), '\n')
	fmt.Print(string(text))
	return os.WriteFile(filepath.Join(c.output, "RESULTS.md"), text, 0o644) //nolint:gosec // results are for everybody
}

func (c *comparison) writeSection(page *bytes.Buffer, s section) {
	var lines [][]string
	for _, r := range c.figures.order {
		if r.what != s.what || s.chosen != nil && !s.chosen(r.where) {
			continue
		}
		for _, n := range c.figures.callers(r) {
			lines = append(lines, c.line(r, n))
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(page, "## %s\n\n", s.title)
	if s.note != "" {
		page.WriteString(s.note + "\n\n")
	}
	if s.what == doAsk {
		page.WriteString(c.figures.describeFloor() + "\n\n")
	}
	writeTable(page, []string{"contestant", "where", s.number, "per second", "lowest to highest", "p50 ms", "p99 ms", "processor µs each"}, lines)
}

// line returns a row's figures at one number of callers. The processor time is that of the contestant's servers,
// including databases.
func (c *comparison) line(r row, n int) []string {
	f := c.figures
	value := func(of func(measurement) float64) float64 {
		median, _ := f.median(r, n, of)
		return median
	}
	spread := f.values(r, n, rate)
	processor := "-"
	if used := value(processorSeconds); used > 0 {
		processor = strconv.FormatFloat(1e6*used, 'f', 1, 64)
	}
	return []string{
		r.contestant, r.where, strconv.Itoa(n), strconv.FormatFloat(value(rate), 'f', 0, 64),
		fmt.Sprintf("%.0f to %.0f", spread[0], spread[len(spread)-1]),
		strconv.FormatFloat(1000*value(medianSeconds), 'f', 2, 64), strconv.FormatFloat(1000*value(slowSeconds), 'f', 2, 64), processor,
	}
}

func (c *comparison) writeIdle(page *bytes.Buffer) {
	var lines [][]string
	for _, r := range c.figures.order {
		if r.what != doIdle {
			continue
		}
		for _, n := range c.figures.callers(r) {
			bytes, _ := c.figures.median(r, n, rate)
			lines = append(lines, []string{r.contestant, r.where, strconv.Itoa(n), strconv.FormatFloat(bytes/1024, 'f', 1, 64)})
		}
	}
	if len(lines) > 0 {
		page.WriteString("## Idle streams\n\nHeap and stacks of the server.\n\n")
		writeTable(page, []string{"contestant", "what is followed", "streams", "KiB a stream"}, lines)
	}
}

// writeTable writes a table in Markdown that is also readable as plain text.
func writeTable(page *bytes.Buffer, head []string, lines [][]string) {
	widths := make([]int, len(head))
	for _, line := range append([][]string{head}, lines...) {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	write := func(line []string) {
		for i, cell := range line {
			fmt.Fprintf(page, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		page.WriteString("|\n")
	}
	write(head)
	for _, width := range widths {
		page.WriteString("|" + strings.Repeat("-", width+2))
	}
	page.WriteString("|\n")
	for _, line := range lines {
		write(line)
	}
	page.WriteString("\n")
}

// short formats a ratio.
func short(value float64) string {
	if value >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
