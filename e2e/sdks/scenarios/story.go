package scenarios

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	openintent "openintent/sdk/go"
)

// patience bounds the waits for something that must happen soon, and theEnd bounds a whole story.
const (
	patience = 30 * time.Second
	theEnd   = 3 * time.Minute
)

// Servers are the servers that the runner's environment names.
type Servers struct {
	Server, Replica, Key, Control, Engine string
}

// Run runs the files. Those that do not disturb servers run simultaneously; the others run after them, one at a time.
func Run(t *testing.T, servers Servers, files []*File) {
	t.Helper()
	for _, disturbing := range []bool{false, true} {
		name := map[bool]string{false: "quiet", true: "disturbing"}[disturbing]
		t.Run(name, func(t *testing.T) {
			for _, file := range files {
				if file.Disturbs != disturbing || file.Engines != nil && !slices.Contains(file.Engines, servers.Engine) {
					continue
				}
				if lacking := file.Lacks(); lacking != "" {
					t.Logf("left out, because this SDK has no %s: %s", lacking, file.Name)
					continue
				}
				t.Run(file.Name, func(t *testing.T) {
					if !disturbing {
						t.Parallel()
					}
					newStory(t, servers, file).tell(file)
				})
			}
		})
	}
}

// story is the run of one file.
type story struct {
	t       *testing.T
	ctx     context.Context
	servers Servers
	suffix  string
	names   map[string]bool
	intent  string

	mutex    sync.Mutex
	changed  chan struct{} // closed and replaced when an agent's handler is called or a follower gets a message
	saved    map[string]any
	clients  map[string]*openintent.Client
	replicas map[string]string
	channels map[string]string
	gates    map[string]chan struct{}
	handled  map[string][]*openintent.Message
	digests  map[string][]*openintent.Digest
	claims   map[string]*openintent.Claim
	boxes    map[string]post // mailboxes, which only steps in turn change

	agents     map[string]*agent
	following  map[string]*following
	background map[string]chan outcome
}

// outcome is the result of a step.
type outcome struct {
	result any
	err    error
}

func newStory(t *testing.T, servers Servers, file *File) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), theEnd)
	t.Cleanup(cancel)
	var suffix [4]byte
	_, _ = rand.Read(suffix[:])
	s := &story{
		t: t, ctx: ctx, servers: servers, suffix: "-" + hex.EncodeToString(suffix[:]), names: namesIn(file),
		changed: make(chan struct{}), saved: make(map[string]any),
		clients: make(map[string]*openintent.Client), replicas: make(map[string]string), channels: make(map[string]string),
		gates: make(map[string]chan struct{}), handled: make(map[string][]*openintent.Message), digests: make(map[string][]*openintent.Digest),
		claims: make(map[string]*openintent.Claim), boxes: make(map[string]post),
		agents: make(map[string]*agent), following: make(map[string]*following), background: make(map[string]chan outcome),
	}
	s.saved["run"] = strings.TrimPrefix(s.suffix, "-")
	return s
}

// tell creates the intent, starts the agents and does the steps.
func (s *story) tell(file *File) {
	s.t.Helper()
	defer s.close()
	title, _ := file.Intent["title"].(string)
	if title == "" {
		title = file.Name
	}
	intent, err := s.client("").CreateIntent(s.ctx, openintent.IntentOptions{Title: title})
	if err != nil {
		s.t.Fatalf("creating the intent: %v", err)
	}
	s.intent = intent.ID
	s.saved["intent"] = intent.ID
	for _, facts := range file.Agents {
		if err := s.startAgent(facts); err != nil {
			s.t.Fatalf("starting %s: %v", facts.ID, err)
		}
	}
	for number, step := range file.Steps {
		if err := s.step(step); err != nil {
			s.t.Fatalf("step %d (%s): %v", number+1, step.Do, err)
		}
	}
}

// step does a step, as often as the step says, and checks the outcome against the expectation.
func (s *story) step(step Step) error {
	if step.Background != "" {
		done := make(chan outcome, 1)
		s.background[step.Background] = done
		go func() { done <- s.times(step) }()
		return nil
	}
	came := s.times(step)
	if step.ExpectError != nil {
		expected := *step.ExpectError
		resolved, err := s.resolve(expected.MessageID, nil)
		if err != nil {
			return err
		}
		expected.MessageID, _ = resolved.(string)
		if err := compareError(expected, came.err); err != nil {
			return err
		}
		s.save(step.Save, map[string]any{"message_id": messageIDOf(came.err)})
		return nil
	}
	if came.err != nil {
		return fmt.Errorf("it failed: %w", came.err)
	}
	s.save(step.Save, came.result)
	if step.Expect == nil {
		return nil
	}
	expected, err := s.resolve(step.Expect, nil)
	if err != nil {
		return err
	}
	return compare("", s.plain(expected), s.plain(came.result))
}

// times does a step once, or several times in turn or in parallel; for several times it returns the list of results.
func (s *story) times(step Step) outcome {
	count := max(step.Repeat, step.Parallel)
	if count == 0 {
		result, err := s.do(step, 0)
		return outcome{result, err}
	}
	results, errs := make([]any, count), make([]error, count)
	var running sync.WaitGroup
	for i := range count {
		once := func() { results[i], errs[i] = s.do(step, i) }
		if step.Parallel > 0 {
			running.Go(once)
		} else if once(); errs[i] != nil {
			break
		}
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return outcome{nil, err}
		}
	}
	return outcome{results, nil}
}

func (s *story) do(step Step, i int) (any, error) {
	do, known := steps[step.Do]
	if !known {
		return nil, fmt.Errorf("the runner does not know the step %q", step.Do)
	}
	with, err := s.resolve(any(step.With), map[string]any{"i": i})
	if err != nil {
		return nil, err
	}
	facts, _ := s.named("", with).(map[string]any)
	return do(s, act{who: s.unique(step.As), with: facts, save: step.Save})
}

func (s *story) save(name string, result any) {
	if name == "" {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.saved[name] = result
}

// await waits for a condition that changes with s.changed.
func (s *story) await(what string, holds func() bool) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		s.mutex.Lock()
		held, changed := holds(), s.changed
		s.mutex.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("waited %s in vain for %s", patience, what)
		}
	}
}

// change makes a change and wakes everyone who waits for one.
func (s *story) change(do func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	do()
	close(s.changed)
	s.changed = make(chan struct{})
}

// client returns the acting agent's client, on the replica that the agent uses.
func (s *story) client(who string) *openintent.Client {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if client := s.clients[who]; client != nil {
		return client
	}
	server := s.replicas[who]
	if server == "" {
		server = s.servers.Server
	}
	client, err := openintent.Dial(openintent.Options{Server: server, APIKey: s.servers.Key, AgentID: who})
	if err != nil {
		panic(err) // cannot happen: the address comes from the stage
	}
	s.clients[who] = client
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// close ends what the story started.
func (s *story) close() {
	for name := range s.following {
		s.following[name].end()
	}
	for name, opened := range s.boxes {
		if err := opened.close(context.WithoutCancel(s.ctx)); err != nil {
			s.t.Errorf("the mailbox %s ended with %v", name, err)
		}
	}
	for name := range s.agents {
		if err := s.agents[name].stop(); err != nil {
			s.t.Errorf("the agent %s ended with %v", name, err)
		}
	}
}
