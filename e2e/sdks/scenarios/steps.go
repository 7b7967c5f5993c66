package scenarios

import (
	"fmt"
	"net/http"
	"time"

	"go.yaml.in/yaml/v3"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// act is a step whose references and names are resolved.
type act struct {
	who  string
	with map[string]any
	save string
}

// facts are all parameters that a step can have; each step decides which of them it uses.
type facts struct {
	Channel      string         `yaml:"channel"`
	Title        string         `yaml:"title"`
	Members      []string       `yaml:"members"`
	MemberPolicy string         `yaml:"member_policy"`
	Options      channelFacts   `yaml:"options"`
	To           string         `yaml:"to"`
	Payload      map[string]any `yaml:"payload"`
	MessageType  string         `yaml:"message_type"`
	Metadata     map[string]any `yaml:"metadata"`
	ExpiresIn    float64        `yaml:"expires_in"`
	Sender       string         `yaml:"sender"`
	Timeout      float64        `yaml:"timeout"`
	FailFast     bool           `yaml:"fail_fast"`
	MinResponses int            `yaml:"min_responses"`
	Message      string         `yaml:"message"`
	Messages     []string       `yaml:"messages"`
	Since        string         `yaml:"since"`
	ThreadID     string         `yaml:"thread_id"`
	Limit        int            `yaml:"limit"`
	Follow       string         `yaml:"follow"`
	Count        int            `yaml:"count"`
	Background   string         `yaml:"background"`
	Gate         string         `yaml:"gate"`
	Status       string         `yaml:"status"`
	Level        string         `yaml:"level"`
	Client       string         `yaml:"client"`
	Replica      int            `yaml:"replica"`

	conversationFacts `yaml:",inline"`
	mailboxFacts      `yaml:",inline"`

	DefaultPolicy string `yaml:"default_policy"`
	Entries       []struct {
		Agent      string `yaml:"agent"`
		Permission string `yaml:"permission"`
	} `yaml:"entries"`

	Agent yaml.Node `yaml:"agent"` // a name, or AgentFacts
}

type channelFacts struct {
	Audit       bool  `yaml:"audit"`
	TTLSeconds  int64 `yaml:"ttl_seconds"`
	MaxMessages int64 `yaml:"max_messages"`
	TurnBudget  int64 `yaml:"turn_budget"`
	Crowd       int64 `yaml:"conversation_budget"`
}

// read returns an act's facts.
func (a act) read() (facts, error) {
	var f facts
	text, err := yaml.Marshal(a.with)
	if err == nil {
		err = strictly(text, &f)
	}
	return f, err
}

// steps are all actions by name.
var steps map[string]func(s *story, a act) (any, error)

func init() {
	steps = map[string]func(s *story, a act) (any, error){
		"wait":         with((*story).wait),
		"wait_handled": with((*story).waitHandled),
		"handled":      with((*story).handledSoFar),
		"together":     with((*story).together),
		"digested":     with((*story).digested),
		"follow_ends":  with((*story).followEnds),
		"followed":     with((*story).followed),
		"start_agent":  with((*story).startedAgent),
		"stop_agent":   with((*story).stopAgent),
		"release":      with((*story).release),
		"set_status":   with((*story).setStatus),
		"set_access":   with((*story).setAccess),
		"use_replica":  with((*story).useReplica),
		"status_note":  with((*story).statusNote),
		"deregister":   with((*story).deregister),
		"presence":     with((*story).presence),
		"reach":        with((*story).reach),
		"probe":        with((*story).probe),
		"restart":      control("restart"),
		"kill":         control("kill"),
		"move":         control("move"),
	}
	for _, others := range []map[string]func(s *story, a act, f facts) (any, error){
		stepsOnChannels, stepsOfConversation, stepsOfEditing, stepsOfMailboxes,
	} {
		for name, do := range others {
			steps[name] = with(do)
		}
	}
}

func with(do func(s *story, a act, f facts) (any, error)) func(s *story, a act) (any, error) {
	return func(s *story, a act) (any, error) {
		f, err := a.read()
		if err != nil {
			return nil, err
		}
		return do(s, a, f)
	}
}

// control calls the endpoint that starts and stops the servers.
func control(what string) func(s *story, a act) (any, error) {
	return func(s *story, _ act) (any, error) {
		request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.servers.Control+"/"+what, nil)
		if err != nil {
			return nil, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		if answer.StatusCode/100 != 2 {
			return nil, fmt.Errorf("the control answered %s", answer.Status)
		}
		return nil, nil
	}
}

func (s *story) wait(_ act, f facts) (any, error) {
	done, known := s.background[f.Background]
	if !known {
		return nil, fmt.Errorf("nothing named %s runs in the background", f.Background)
	}
	select {
	case came := <-done:
		return came.result, came.err
	case <-s.ctx.Done():
		return nil, fmt.Errorf("%s did not end", f.Background)
	}
}

func (s *story) followEnds(_ act, f facts) (any, error) {
	following := s.following[f.Follow]
	if err := s.await("the end of "+f.Follow, func() bool { return following.ended }); err != nil {
		return nil, err
	}
	return nil, following.err
}

func (s *story) followed(_ act, f facts) (any, error) {
	following := s.following[f.Follow]
	what := fmt.Sprintf("%d messages of %s", f.Count, f.Follow)
	err := s.await(what, func() bool { return len(following.messages) >= f.Count || following.ended })
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]any{}, following.messages...), following.err
}

func (s *story) startedAgent(a act, _ facts) (any, error) {
	var wanted AgentFacts
	text, err := yaml.Marshal(s.plain(a.with["agent"]))
	if err == nil {
		err = strictly(text, &wanted)
	}
	if err != nil {
		return nil, err
	}
	return nil, s.startAgent(wanted)
}

func (s *story) stopAgent(_ act, f facts) (any, error) {
	agent := s.agents[s.plain(f.Agent.Value).(string)]
	if agent == nil {
		return nil, fmt.Errorf("no agent %s is running", f.Agent.Value)
	}
	return nil, agent.stop()
}

func (s *story) release(_ act, f facts) (any, error) {
	close(s.gate(f.Gate))
	return nil, nil
}

func (s *story) setStatus(a act, f facts) (any, error) {
	_, err := s.client(a.who).SetIntentStatus(s.ctx, s.intent, openintent.IntentStatus(f.Status))
	return nil, err
}

func (s *story) setAccess(a act, f facts) (any, error) {
	request := &openintentv1.SetAccessControlRequest{IntentId: s.intent, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_OPEN}
	if f.DefaultPolicy == "closed" {
		request.DefaultPolicy = openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED
	}
	permissions := map[string]openintentv1.Permission{
		"read": openintentv1.Permission_PERMISSION_READ, "write": openintentv1.Permission_PERMISSION_WRITE,
		"admin": openintentv1.Permission_PERMISSION_ADMIN,
	}
	for _, entry := range f.Entries {
		request.Entries = append(request.Entries, &openintentv1.AccessEntryInput{
			PrincipalId: entry.Agent, Permission: permissions[entry.Permission],
		})
	}
	_, err := s.client(a.who).Raw().Access.SetAccessControl(s.ctx, request)
	return nil, openintent.FromError(err)
}

func (s *story) useReplica(_ act, f facts) (any, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.clients, f.Client)
	s.replicas[f.Client] = map[int]string{1: s.servers.Server, 2: s.servers.Replica}[f.Replica]
	return nil, nil
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }
