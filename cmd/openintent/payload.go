package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"openintent/internal/jsonvalue"
)

// payloadFlags are the ways to give a message's payload. Exactly one is used. Sending verbs embed them after their
// own arguments.
type payloadFlags struct {
	Payload string   `arg:"" optional:"" help:"JSON object, @FILE, or - for standard input; or use --text or --pair."`
	Text    *string  `group:"Payload" placeholder:"TEXT" help:"The payload is {\"text\": TEXT}."`
	Pairs   []string `group:"Payload" name:"pair" short:"p" sep:"none" placeholder:"NAME=TEXT" help:"One member of the payload, as NAME=TEXT or NAME:=JSON; may be repeated."`
}

// mostPayload is how many bytes of a file or of standard input are read: more than any server accepts.
const mostPayload = 64 << 20

// read returns the payload.
func (p payloadFlags) read(to terminal) (map[string]any, error) {
	ways := 0
	for _, used := range []bool{p.Payload != "", p.Text != nil, len(p.Pairs) > 0} {
		if used {
			ways++
		}
	}
	if ways != 1 {
		return nil, usagef("give the payload once: as a JSON object, @FILE, -, --text TEXT or -p NAME=TEXT")
	}
	switch {
	case p.Text != nil:
		return objectOf(new(jsonvalue.Builder).String("text", *p.Text).Object(), "payload")
	case len(p.Pairs) > 0:
		return fromPairs(p.Pairs)
	}
	text, err := p.text(to)
	switch {
	case err != nil:
		return nil, err
	case p.isWords():
		words := shortened(p.Payload, shownWords)
		return nil, usagef("%q is no JSON object; to send it as text, write --text %q", words, words)
	}
	return objectOf(text, "payload")
}

// shownWords is how much of a text is shown that was given as a payload.
const shownWords = 60

// isWords reports whether the payload on the command line was meant as text: it does not begin as JSON of several values.
func (p payloadFlags) isWords() bool {
	json := strings.TrimLeft(p.Payload, " \t\r\n")
	return p.Payload != "-" && !strings.HasPrefix(p.Payload, "@") && !strings.HasPrefix(json, "{") && !strings.HasPrefix(json, "[")
}

// text returns the JSON text, wherever it is given.
func (p payloadFlags) text(to terminal) ([]byte, error) {
	if p.Payload == "-" {
		return readAll(to.stdin, "standard input")
	}
	path, isFile := strings.CutPrefix(p.Payload, "@")
	if !isFile {
		return []byte(p.Payload), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, usagef("the payload's file cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	return readAll(file, path)
}

func readAll(from io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, mostPayload+1))
	if err != nil {
		return nil, fmt.Errorf("reading the payload from %s: %w", name, err)
	}
	if len(text) > mostPayload {
		return nil, usagef("the payload in %s is larger than any server accepts", name)
	}
	return text, nil
}

func fromPairs(pairs []string) (map[string]any, error) {
	var built jsonvalue.Builder
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found || strings.TrimSuffix(name, ":") == "" {
			return nil, usagef("-p takes NAME=TEXT or NAME:=JSON, not %q", pair)
		}
		name, isJSON := strings.CutSuffix(name, ":")
		if !isJSON {
			built.String(name, value)
			continue
		}
		if err := jsonvalue.Check([]byte(value), name); err != nil {
			return nil, usagef("-p %s: %w", name, err)
		}
		built.Raw(name, []byte(value))
	}
	return objectOf(built.Object(), "payload")
}

// objectOf reads a JSON object as strictly as servers do.
func objectOf[T ~string | ~[]byte](text T, name string) (map[string]any, error) {
	object, err := jsonvalue.ParseObject([]byte(text), name)
	if err != nil {
		return nil, exitError{exitUsage, err}
	}
	decoded, err := object.Struct()
	if err != nil {
		return nil, exitError{exitUsage, err}
	}
	return decoded.AsMap(), nil
}
