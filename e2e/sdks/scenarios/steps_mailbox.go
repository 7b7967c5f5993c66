package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// mailboxFacts are the parameters of steps on mailboxes.
type mailboxFacts struct {
	Mailbox   string         `yaml:"mailbox"`
	Channels  []string       `yaml:"channels"`
	Attention *bool          `yaml:"attention"`
	MaxChars  int            `yaml:"max_chars"`
	Apart     bool           `yaml:"apart"`
	Wait      float64        `yaml:"wait"`
	Except    []string       `yaml:"except"`
	Tool      string         `yaml:"tool"`
	Arguments map[string]any `yaml:"with"`
	Role      string         `yaml:"role"`
}

// post is a mailbox in this process, or in one of its own.
type post interface {
	do(ctx context.Context, what string, given boxArguments) (any, error)
	close(ctx context.Context) error
	kill() error
}

// boxArguments are what a step gives to a mailbox.
type boxArguments struct {
	Count     int            `json:"count"`
	Wait      float64        `json:"wait"`
	Except    []string       `json:"except"`
	Message   string         `json:"message"`
	Payload   map[string]any `json:"payload"`
	Note      string         `json:"note"`
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

// boxOptions say whose mailbox it is, and where.
type boxOptions struct {
	Server, Key, Agent string
	Channels           []string
	WithoutAttention   bool
	MaxChars           int
}

// box is a mailbox, and what was taken from it last.
type box struct {
	client  *openintent.Client
	mailbox *openintent.Mailbox
	most    int
	batch   *openintent.Batch
}

func openBox(ctx context.Context, options boxOptions) (*box, error) {
	client, err := openintent.Dial(openintent.Options{Server: options.Server, APIKey: options.Key, AgentID: options.Agent})
	if err != nil {
		return nil, err
	}
	mailbox, err := client.Mailbox(openintent.MailboxOptions{
		Channels: options.Channels, WithoutAttention: options.WithoutAttention, MaxChars: options.MaxChars,
	})
	if err != nil {
		return nil, err
	}
	if options.MaxChars == 0 {
		options.MaxChars = openintent.DefaultMaxChars
	}
	return &box{client: client, mailbox: mailbox, most: options.MaxChars}, mailbox.Open(ctx)
}

func (b *box) do(ctx context.Context, what string, given boxArguments) (any, error) {
	switch what {
	case "take":
		return b.take(ctx, given)
	case "settle":
		return nil, b.batch.Settle(ctx, given.Except...)
	case "waiting":
		return given.Count, b.until(ctx, func(waiting int) bool { return waiting == given.Count })
	case "answer":
		return answeredFacts(b.mailbox.Answer(ctx, given.Message, given.Payload))
	case "decline":
		return answeredFacts(b.mailbox.Decline(ctx, given.Message, given.Note))
	case "read":
		text, err := b.mailbox.Read(ctx, given.Message, "")
		return map[string]any{"fits": utf8.RuneCountInString(text) <= b.most, "goes_on": strings.Contains(text, "There is more")}, err
	case "tool":
		return b.tool(ctx, given)
	}
	return nil, fmt.Errorf("a mailbox does not know the step %q", what)
}

// until waits until a number of messages wait.
func (b *box) until(ctx context.Context, enough func(waiting int) bool) error {
	for !enough(b.mailbox.Waiting()) {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return fmt.Errorf("%d messages wait", b.mailbox.Waiting())
		}
	}
	return nil
}

func (b *box) take(ctx context.Context, given boxArguments) (any, error) {
	err := b.until(ctx, func(waiting int) bool { return waiting >= given.Count })
	if err != nil {
		return nil, err
	}
	batch, err := b.mailbox.Take(ctx, seconds(given.Wait))
	if err != nil {
		return nil, err
	}
	if len(batch.Messages) > 0 {
		b.batch = batch
	}
	chars, messages := 0, []any{}
	for _, message := range batch.Messages {
		chars += utf8.RuneCountInString(message.Text)
		line, _, _ := strings.Cut(message.Text, "\n")
		var fenced struct {
			ID, From string
			Cut      int `json:"cut_from_bytes"`
		}
		if err := json.Unmarshal([]byte(line), &fenced); err != nil || fenced.ID != message.ID || fenced.From != message.Sender {
			return nil, fmt.Errorf("the text does not say who has sent it: %s", message.Text)
		}
		facts := map[string]any{
			"id": message.ID, "sender": message.Sender, "sender_kind": orNil(message.SenderKind), "channel": message.ChannelName,
			"policy": nil, "waits_for_answer": message.WaitsForAnswer, "attempt": message.Attempt, "payload": message.Payload, "cut": fenced.Cut > 0,
		}
		if message.Attention != nil {
			facts["policy"] = string(message.Attention.Policy)
		}
		messages = append(messages, facts)
	}
	return map[string]any{"fits": chars <= b.most, "messages": messages}, nil
}

func (b *box) tool(ctx context.Context, given boxArguments) (any, error) {
	arguments, err := json.Marshal(given.Arguments)
	if err != nil {
		return nil, err
	}
	for _, tool := range b.mailbox.Tools() {
		if tool.Name == given.Tool {
			said, err := tool.Call(ctx, arguments)
			return map[string]any{"text": said}, err
		}
	}
	return nil, fmt.Errorf("there is no tool %q", given.Tool)
}

func (b *box) close(ctx context.Context) error {
	return errors.Join(b.mailbox.Close(ctx), b.client.Close())
}

func (b *box) kill() error { return errors.New("only a mailbox that is apart can be killed") }

func answeredFacts(answered *openintent.Answered, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	facts := map[string]any{"stored": answered.Stored, "payload": nil, "declined": nil}
	if answered.Message != nil {
		facts["payload"] = answered.Message.Payload
	}
	if answered.Declined {
		facts["declined"] = answered.Note
	}
	return facts, nil
}

// apartVariable holds the options of the mailbox of a process that ServeMailbox turns into one.
const apartVariable = "OPENINTENT_TEST_MAILBOX"

// boxApart is a mailbox in a process of its own: this program, which ServeMailbox turns into that.
type boxApart struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	turn    sync.Mutex
}

// boxCall is what is asked of such a process, and boxAnswer what it says.
type boxCall struct {
	What  string       `json:"what"`
	Given boxArguments `json:"given"`
}

type boxAnswer struct {
	Result any    `json:"result"`
	Failed string `json:"failed"`
}

func openApart(ctx context.Context, options boxOptions) (*boxApart, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(program)
	process.Env, process.Stderr = append(os.Environ(), apartVariable+"="+string(text)), os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	a := &boxApart{process: process, in: in, out: bufio.NewReader(out)}
	_, err = a.do(ctx, "waiting", boxArguments{Count: -1})
	return a, err
}

func (a *boxApart) do(_ context.Context, what string, given boxArguments) (any, error) {
	a.turn.Lock()
	defer a.turn.Unlock()
	call, err := json.Marshal(boxCall{what, given})
	if err != nil {
		return nil, err
	}
	if _, err := a.in.Write(append(call, '\n')); err != nil {
		return nil, err
	}
	line, err := a.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the mailbox's process has ended: %w", err)
	}
	var answer boxAnswer
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Failed != "" {
		return nil, errors.New(answer.Failed)
	}
	return answer.Result, nil
}

// close ends the process in order.
func (a *boxApart) close(context.Context) error {
	return errors.Join(a.in.Close(), a.process.Wait())
}

func (a *boxApart) kill() error {
	if err := a.process.Process.Kill(); err != nil {
		return err
	}
	_ = a.process.Wait() // it was killed
	return nil
}

// ServeMailbox turns the process into a mailbox if it was started as one, and then ends it. The main function of a test calls it first.
func ServeMailbox() {
	text, started := os.LookupEnv(apartVariable)
	if !started {
		return
	}
	if err := serveMailbox(text); err != nil {
		fmt.Fprintln(os.Stderr, "the mailbox:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveMailbox(text string) error {
	ctx := context.Background()
	var options boxOptions
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		return err
	}
	opened, err := openBox(ctx, options)
	if err != nil {
		return err
	}
	calls, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var call boxCall
		if err := calls.Decode(&call); errors.Is(err, io.EOF) {
			return opened.close(ctx)
		} else if err != nil {
			return err
		}
		var answer boxAnswer
		if call.Given.Count >= 0 {
			if answer.Result, err = opened.do(ctx, call.What, call.Given); err != nil {
				answer.Failed = err.Error()
			}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

// stepsOfMailboxes are the steps on mailboxes.
var stepsOfMailboxes = map[string]func(s *story, a act, f facts) (any, error){
	"register": func(s *story, a act, f facts) (any, error) {
		_, err := s.client(a.who).Raw().Agents.UpsertAgent(s.ctx, &openintentv1.RegisterAgentRequest{AgentId: &a.who, RoleId: &f.Role})
		return nil, openintent.FromError(err)
	},
	"open_mailbox": func(s *story, a act, f facts) (any, error) {
		server := s.servers.Server
		if s.replicas[a.who] != "" {
			server = s.replicas[a.who]
		}
		options := boxOptions{
			Server: server, Key: s.servers.Key, Agent: a.who, Channels: f.Channels, MaxChars: f.MaxChars,
			WithoutAttention: f.Attention != nil && !*f.Attention,
		}
		var opened post
		var err error
		if f.Apart {
			opened, err = openApart(s.ctx, options)
		} else {
			opened, err = openBox(s.ctx, options)
		}
		if err == nil {
			s.boxes[f.Mailbox] = opened
		}
		return nil, err
	},
	"close_mailbox": func(s *story, _ act, f facts) (any, error) {
		closed := s.boxes[f.Mailbox]
		delete(s.boxes, f.Mailbox)
		return nil, closed.close(s.ctx)
	},
	"kill_mailbox": func(s *story, _ act, f facts) (any, error) {
		killed := s.boxes[f.Mailbox]
		delete(s.boxes, f.Mailbox)
		return nil, killed.kill()
	},
	"take": inBox("take"), "settle": inBox("settle"), "waiting": inBox("waiting"), "answer": inBox("answer"), "decline": inBox("decline"),
	"read": inBox("read"), "tool": inBox("tool"),
}

// inBox does a step in a mailbox.
func inBox(what string) func(s *story, a act, f facts) (any, error) {
	return func(s *story, _ act, f facts) (any, error) {
		there := s.boxes[f.Mailbox]
		if there == nil {
			return nil, fmt.Errorf("there is no mailbox %s", f.Mailbox)
		}
		return there.do(s.ctx, what, boxArguments{
			Count: f.Count, Wait: f.Wait, Except: f.Except, Message: f.Message, Payload: f.Payload, Note: f.Note, Tool: f.Tool, Arguments: f.Arguments,
		})
	}
}
