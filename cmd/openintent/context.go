package main

import (
	"bufio"
	"path/filepath"
	"strings"
)

// contextCommand stores servers and keys under names.
type contextCommand struct {
	List   contextListCommand   `cmd:"" default:"1" help:"List the contexts."`
	Use    contextUseCommand    `cmd:"" help:"Make a context the current one."`
	Set    contextSetCommand    `cmd:"" help:"Make a context, or change the given settings of one."`
	Delete contextDeleteCommand `cmd:"" help:"Delete a context and its key."`
}

// contextListCommand lists the contexts, without their keys.
type contextListCommand struct{}

// Run prints a table.
func (contextListCommand) Run(to terminal) error {
	read, err := readConfiguration(to)
	if err != nil {
		return err
	}
	listed := newTable("CURRENT", "NAME", "SERVER", "AGENT", "KEY", "TLS")
	for _, name := range read.names() {
		saved := read.Contexts[name]
		listed.add(mark(name == read.Current), name, saved.Server, saved.Agent, mark(saved.APIKey != ""),
			mark(saved.TLS || saved.CAFile != "" || strings.HasPrefix(saved.Server, "https://")))
	}
	return listed.print(to)
}

func mark(holds bool) string {
	if holds {
		return "*"
	}
	return ""
}

// contextUseCommand makes a context the current one.
type contextUseCommand struct {
	Name string `arg:"" complete:"contexts" help:"The context."`
}

// Run writes the choice to the file.
func (c contextUseCommand) Run(to terminal) error {
	read, err := readConfiguration(to)
	if err != nil {
		return err
	}
	if _, known := read.Contexts[c.Name]; !known {
		return read.unknown(c.Name)
	}
	read.Current = c.Name
	return read.write()
}

// contextSetCommand makes or changes a context.
type contextSetCommand struct {
	Name   string  `arg:"" complete:"contexts" help:"The context."`
	Server *string `placeholder:"HOST:PORT" help:"Server (gRPC), as host:port or https://host:port; 127.0.0.1:50051 for a new context."`
	APIKey *string `name:"api-key" placeholder:"KEY" help:"API key; - reads it from standard input, which keeps it out of the shell's history."`
	Agent  *string `placeholder:"ID" help:"Agent to act as."`
	TLS    *bool   `name:"tls" help:"Use TLS."`
	CAFile *string `name:"ca-file" placeholder:"FILE" help:"Trust these certificates (PEM) for the server; implies TLS."`
	Use    bool    `help:"Make it the current context; the first context always becomes current."`
}

// Run writes the context to the file. An empty setting removes the saved one.
func (c contextSetCommand) Run(to terminal) error {
	if c.Name == "" || c.Name != escaped(strings.TrimSpace(c.Name)) {
		return usagef("a context's name must be one word of visible characters, not %q", c.Name)
	}
	read, err := readConfiguration(to)
	if err != nil {
		return err
	}
	saved := read.Contexts[c.Name]
	if err := c.change(&saved, to); err != nil {
		return err
	}
	if saved.Server == "" {
		saved.Server = defaultServer
	}
	if _, err := (target{}).at("--server", saved.Server); err != nil {
		return err
	}
	if read.Contexts == nil {
		read.Contexts = make(map[string]savedContext)
	}
	read.Contexts[c.Name] = saved
	if c.Use || read.Current == "" {
		read.Current = c.Name
	}
	return read.write()
}

func (c contextSetCommand) change(saved *savedContext, to terminal) error {
	for _, setting := range []struct{ given, into *string }{
		{c.Server, &saved.Server}, {c.APIKey, &saved.APIKey}, {c.Agent, &saved.Agent}, {c.CAFile, &saved.CAFile},
	} {
		if setting.given != nil {
			*setting.into = *setting.given
		}
	}
	if c.TLS != nil {
		saved.TLS = *c.TLS
	}
	if c.CAFile != nil && *c.CAFile != "" {
		absolute, err := filepath.Abs(*c.CAFile)
		if err != nil {
			return err
		}
		saved.CAFile = absolute
	}
	if saved.APIKey != "-" {
		return nil
	}
	line, _ := bufio.NewReader(to.stdin).ReadString('\n')
	if saved.APIKey = strings.TrimSpace(line); saved.APIKey == "" {
		return usagef("standard input holds no key")
	}
	return nil
}

// contextDeleteCommand deletes a context.
type contextDeleteCommand struct {
	Name string `arg:"" complete:"contexts" help:"The context."`
}

// Run removes the context from the file.
func (c contextDeleteCommand) Run(to terminal) error {
	read, err := readConfiguration(to)
	if err != nil {
		return err
	}
	if _, known := read.Contexts[c.Name]; !known {
		return read.unknown(c.Name)
	}
	delete(read.Contexts, c.Name)
	if read.Current == c.Name {
		read.Current = ""
		to.note("no context is current now")
	}
	return read.write()
}
