package main

import openintent "openintent/sdk/go"

// documentFlags make a message a document of its channel.
type documentFlags struct {
	Document bool    `group:"Conversation" help:"Makes it the present content of the channel's document that --kind names. It is kept however many messages come after it."`
	Replaces *string `group:"Conversation" placeholder:"MESSAGE" help:"The message that must be the document's content now: its reference or its id (msg_...); an empty one if there must be none."`
}

// documented adds what the flags say.
func (f documentFlags) documented(draft openintent.Draft) (openintent.Draft, error) {
	draft.Document, draft.Replaces = f.Document, f.Replaces
	switch {
	case f.Document && draft.Kind == "":
		return draft, usagef("--document needs --kind, which is the document's name")
	case f.Replaces == nil || *f.Replaces == "":
		return draft, nil
	}
	_, message, err := parseReference(*f.Replaces)
	draft.Replaces = &message
	return draft, err
}
