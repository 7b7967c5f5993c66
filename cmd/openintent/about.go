package main

import openintent "openintent/sdk/go"

// aboutFlags say what a message is about.
type aboutFlags struct {
	Subject  string   `group:"Conversation" placeholder:"TEXT" help:"What the message is about, in one line of at most 200 characters."`
	Kind     string   `group:"Conversation" placeholder:"WORD" help:"What kind of content it has, such as status or review.finding."`
	Priority string   `group:"Conversation" enum:",low,normal,high,urgent" default:"" placeholder:"WORD" help:"How urgent it is: low, normal, high or urgent."`
	Mentions []string `complete:"agents" group:"Conversation" name:"mention" sep:"none" placeholder:"NAME" help:"An agent, or role:ROLE, that the message mentions; may be repeated. An empty name mentions nobody; without the flag the server looks for @NAME in the payload."`
	Task     string   `group:"Conversation" placeholder:"ID" help:"The task of the intent that it is about."`
}

func (f aboutFlags) conversation() openintent.Conversation {
	c := openintent.Conversation{Subject: f.Subject, Kind: f.Kind, TaskID: f.Task, Priority: openintent.Priority(f.Priority)}
	if f.Mentions != nil {
		c.Mentions = []string{}
	}
	for _, name := range f.Mentions {
		if name != "" {
			c.Mentions = append(c.Mentions, name)
		}
	}
	return c
}

// parentFlag puts a message below another one.
type parentFlag struct {
	Parent string `group:"Conversation" placeholder:"MESSAGE" help:"The message of the channel that this one belongs under: its reference or its id (msg_...)."`
}

func (f parentFlag) under(c openintent.Conversation) (openintent.Conversation, error) {
	if f.Parent == "" {
		return c, nil
	}
	_, message, err := parseReference(f.Parent)
	c.ParentID = message
	return c, err
}
