package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// doctorCommand finds out why an agent is not reached.
type doctorCommand struct {
	connection
	Harness string `placeholder:"NAME" help:"Also look at the entry in this harness's settings: claude, codex, opencode, cursor, gemini, qwen, copilot, cline or kilo."`
	JSON    bool   `name:"json" help:"Print JSON, one object per check."`
}

// Help says what it is good for.
func (doctorCommand) Help() string {
	return `Goes the way of a message to an agent, step by step, and says of each step whether it works or what to do. It changes nothing and starts no
model. The exit code is 1 if something is wrong.

The server is that of the other commands; its REST address is OPENINTENT_URL, or port 8000 of this machine.

  openintent doctor
  openintent doctor --agent planner --harness codex`
}

// longestCheck bounds how long one check waits for the server.
const longestCheck = 5 * time.Second

// finding is what one check has found.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	// Do says what to do about it; empty if nothing is wrong.
	Do string `json:"do,omitempty"`
}

// examination is what the checks have in common.
type examination struct {
	client *openintent.Client
	target target
	url    string
	found  []finding
	// who is the caller; nil until the server has said it.
	who *openintentv1.WhoAmIResponse
}

// fine notes that a check has found nothing wrong.
func (e *examination) fine(check, format string, arguments ...any) {
	e.found = append(e.found, finding{Check: check, OK: true, Found: fmt.Sprintf(format, arguments...)})
}

// wrong notes that a check has found something wrong, and what to do.
func (e *examination) wrong(check, found, do string) {
	e.found = append(e.found, finding{Check: check, Found: found, Do: do})
}

// Run makes the checks, each as far as those before it allow.
func (c *doctorCommand) Run(ctx context.Context, to terminal) error {
	c.Patience, c.ConnectTimeout = 0, longestCheck // it says once what is wrong, and tries nothing again
	target, err := c.resolve(to)
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	e := &examination{client: client, target: target, url: cmp.Or(os.Getenv("OPENINTENT_URL"), "http://127.0.0.1:8000")}
	e.server(ctx)
	e.rest(ctx)
	if e.who != nil {
		e.identity()
	}
	if e.who != nil && !e.who.GetOperator() {
		e.record(ctx)
		e.reach(ctx)
	}
	if c.Harness != "" {
		e.harness(c.Harness)
	}
	return e.print(c.JSON, to)
}

// print prints a line for each check.
func (e *examination) print(asJSON bool, to terminal) error {
	sick := false
	for _, one := range e.found {
		sick = sick || !one.OK
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if !asJSON {
			line = []byte(one.line())
		}
		if _, err := fmt.Fprintln(to.stdout, harmless(line)); err != nil {
			return err
		}
	}
	if sick {
		return silent(exitFailed)
	}
	return nil
}

func (f finding) line() string {
	if f.OK {
		return fmt.Sprintf("ok     %-9s %s", f.Check, f.Found)
	}
	return fmt.Sprintf("WRONG  %-9s %s\n       %-9s -> %s", f.Check, f.Found, "", f.Do)
}

// server checks whether the gRPC port answers and knows the key.
func (e *examination) server(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestCheck)
	defer cancel()
	who, err := called(e.client.Raw().Agents.WhoAmI(ctx, &openintentv1.WhoAmIRequest{}))
	var refusal *openintent.Error
	switch {
	case err == nil:
		e.fine("server", "%s answers over gRPC", e.target.server)
		e.fine("key", "the server knows the key")
		e.who = who
	case errors.Is(err, openintent.ErrUnavailable) || ctx.Err() != nil:
		e.wrong("server", fmt.Sprintf("%s does not answer over gRPC", e.target.server),
			"start it with `openintent serve`, or name the right address in OPENINTENT_SERVER (host:port of gRPC)")
	case errors.As(err, &refusal) && refusal.Code == "UNAUTHENTICATED":
		e.fine("server", "%s answers over gRPC", e.target.server)
		e.wrong("key", refusal.Message, "put the key itself into OPENINTENT_API_KEY, or make one with `openintent keys create`")
	default:
		e.wrong("server", fmt.Sprintf("%s refuses the call: %v", e.target.server, err),
			"check OPENINTENT_SERVER, OPENINTENT_AGENT_ID and whether the server wants TLS (OPENINTENT_TLS=1)")
	}
}

// mostOff is how far this machine's clock and the server's may differ: deadlines and tokens go by both.
const mostOff = 5 * time.Second

// rest checks whether the REST port answers, and compares the clocks.
func (e *examination) rest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestCheck)
	defer cancel()
	const do = "harnesses and webhooks use REST; name its address in OPENINTENT_URL, such as http://127.0.0.1:8000"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(e.url, "/")+"/readyz", nil)
	if err != nil {
		e.wrong("rest", fmt.Sprintf("%s is no address: %v", e.url, err), do)
		return
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		e.wrong("rest", fmt.Sprintf("%s does not answer", e.url), do)
		return
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		e.wrong("rest", fmt.Sprintf("%s is not ready: it answers %s", e.url, answer.Status), "ask `openintent health "+e.url+"` why")
		return
	}
	e.fine("rest", "%s answers over HTTP", e.url)
	there, err := http.ParseTime(answer.Header.Get("Date"))
	if off := time.Since(there).Abs(); err == nil && off > mostOff {
		e.wrong("clock", fmt.Sprintf("this machine's clock and the server's differ by %s", off.Round(time.Second)), "set both by NTP")
	} else if err == nil {
		e.fine("clock", "this machine and the server agree on the time")
	}
}

// identity checks which agent the key acts as.
func (e *examination) identity() {
	switch {
	case e.who.GetOperator():
		e.wrong("agent", "the key acts as the operator, and no agent is named", "name the agent with --agent or OPENINTENT_AGENT_ID")
	case e.who.GetReadOnly():
		e.wrong("agent", "the key acts as "+e.who.GetAgentId()+" and may only read, so it can answer nothing", "use a key that may write")
	default:
		e.fine("agent", "the key acts as %s%s", e.who.GetAgentId(), kept(e.who))
	}
}

// kept says to what places a key is kept.
func kept(who *openintentv1.WhoAmIResponse) string {
	places := append(who.GetIntents(), who.GetChannels()...)
	if len(places) == 0 {
		return ""
	}
	return ", and is kept to " + strings.Join(places, ", ")
}
