package workflows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	openintentv1 "openintent/gen/openintent/v1"
)

// Bounds of a file. The bounds of names, members and numbers come from the contract; a server may be configured with lower
// ones.
const (
	maxFileBytes    = 1 << 20
	maxChannels     = 1000
	maxTitle        = 1024
	maxDescription  = 65_536
	maxID           = 128
	maxChannelName  = 128
	maxMembers      = 10_000
	maxTTLSeconds   = 100 * 365 * 24 * 3600
	maxMaxMessages  = 1_000_000_000
	formatVersion   = "1.0"
	defaultMessages = 1000
	leastBudget     = 2
	mostBudget      = 100
	mostCrowdBudget = 1000
	defaultBudget   = 20
)

// File is what a workflow file says about channels.
type File struct {
	// Name is the file's name as it was given, for messages.
	Name string
	// Workflow is the name by which later runs find the intent made from the file: info.name, or the intent's title. It is
	// empty if the file has neither.
	Workflow string
	// IntentID is the intent that the file names, or empty.
	IntentID string
	// Title and Description are for a new intent.
	Title, Description string
	// Channels are in the order of the file.
	Channels []Channel
	// Unknown are the keys at the top of the file that are no part of the format, in the order of the file.
	Unknown []Key
}

// Key is a key at the top of a file.
type Key struct {
	At   Position
	Name string
}

// Channel is one channel as a file describes it, with defaults for the settings that the file leaves out.
type Channel struct {
	// At is where the file names the channel.
	At   Position
	Name string
	// Members are in the order of the file, each of them once.
	Members []string
	Policy  openintentv1.MemberPolicy
	Audit   bool
	// TTLSeconds is nil for a channel that stays open until its intent ends.
	TTLSeconds  *int64
	MaxMessages int64
	// FromJoin hides earlier messages from members that are added later.
	FromJoin bool
	// TurnBudget is how many messages two agents alone may exchange within 10 minutes before the loop brake is put on; 0 for no brake.
	TurnBudget int64
	// ConversationBudget is how often agents may set each other to work within 10 minutes before they are braked; 0 for no brake, and nil for
	// the server's usual numbers.
	ConversationBudget *int64
	// TaskID is empty for a channel of the whole intent.
	TaskID string
}

// ErrUnreadable means that a file does not exist or cannot be read.
var ErrUnreadable = errors.New("the workflow file cannot be read")

// Load reads a file. It returns mistakes in the file as Problems.
func Load(path string) (*File, error) {
	source, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer func() { _ = source.Close() }()
	text, err := io.ReadAll(io.LimitReader(source, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return Parse(path, text)
}

// Parse reads the text of a file; the name is for messages. It returns mistakes in the text as Problems.
func Parse(name string, text []byte) (*File, error) {
	r := &reader{name: name}
	file := r.file(text)
	if err := r.problems.tidied().orNil(); err != nil {
		return nil, err
	}
	return file, nil
}

func (r *reader) file(text []byte) *File {
	file := &File{Name: r.name}
	if len(text) > maxFileBytes {
		r.problem(Position{1, 1}, "the file is larger than %d bytes; split it.", maxFileBytes)
		return nil
	}
	root := r.document(bytes.TrimPrefix(text, []byte("\ufeff")))
	switch {
	case len(r.problems) > 0:
		return nil
	case root == nil || isNull(root):
		r.problem(Position{1, 1}, "the file is empty; %s", headers)
		return nil
	}
	top := make(map[string]entry)
	for _, e := range r.entries(root, "a workflow file", anyKeys) {
		top[e.name] = e
		if !ofFormat(e.name) && e.value.Anchor == "" { // what has an anchor is there to be referred to
			file.Unknown = append(file.Unknown, Key{e.at, e.name})
		}
	}
	if resolved(root).Kind != yaml.MappingNode {
		return nil
	}
	r.header(file, position(root), top)
	if e, given := top["intent"]; given {
		r.intent(file, e.value)
	}
	if file.Title == "" {
		file.Title = file.Workflow
	}
	if file.Workflow == "" {
		file.Workflow = file.Title
	}
	names := make(map[string]bool)
	if e, given := top["channels"]; given {
		file.Channels = r.channels(e, names)
	}
	if e, given := top["agents"]; given {
		r.agents(e, names)
	}
	return file
}

// headers says how a file begins.
const headers = `it begins with version: "1.0" and intent: {title: ...}, or with openintent: "1.0" and info: {name: ...}.`

// header reads either form of the header. A file with the key "openintent" has the second form, whatever its "version" says.
func (r *reader) header(file *File, begin Position, top map[string]entry) {
	if format, given := top["openintent"]; given {
		r.format(format)
		r.info(file, format.at, top)
		if workflow, given := top["workflow"]; given {
			r.entries(workflow.value, "workflow", anyKeys)
		}
		return
	}
	if format, given := top["version"]; given {
		r.format(format)
		return
	}
	r.problem(begin, "the file does not say its format; %s", headers)
}

// format checks the version of the format; 1.0 may be written with or without quotes.
func (r *reader) format(e entry) {
	if e.value.Kind != yaml.ScalarNode || e.value.Value != formatVersion {
		r.problem(position(e.value), `%s must be "%s", not %s.`, e.name, formatVersion, kind(e.value))
	}
}

// info reads the name and description of the header's second form.
func (r *reader) info(file *File, begin Position, top map[string]entry) {
	info, given := top["info"]
	if !given {
		r.problem(begin, "info is missing; give the workflow's name as info: {name: ...}.")
		return
	}
	named := false
	for _, e := range r.entries(info.value, "info", anyKeys) {
		switch e.name {
		case "name":
			named = true
			file.Workflow = r.bounded(e.value, "info.name", maxTitle)
		case "description":
			file.Description = r.optional(e.value, "info.description", maxDescription)
		}
	}
	if !named && (info.value.Kind == yaml.MappingNode || isNull(info.value)) {
		r.problem(info.at, "info.name is missing; it is the workflow's name.")
	}
}

// intent reads the id of the intent, or the title and description for a new one.
func (r *reader) intent(file *File, node *yaml.Node) {
	for _, e := range r.entries(node, "intent", anyKeys) {
		switch e.name {
		case "id":
			file.IntentID = r.optional(e.value, "intent.id", maxID)
		case "title":
			file.Title = r.bounded(e.value, "intent.title", maxTitle)
		case "description":
			file.Description = r.optional(e.value, "intent.description", maxDescription)
		}
	}
}
