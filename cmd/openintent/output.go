package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/server/jsonform"
)

// output selects the form in which a command prints.
type output struct {
	JSON bool `name:"json" xor:"form" help:"Print JSON as the REST API has it, one object per line."`
}

// lines prints each message as JSON on its own line.
func lines[M proto.Message](to terminal, messages ...M) error {
	for _, message := range messages {
		line, err := jsonform.Encode(message)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(to.stdout, harmless(line)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// list prints a table with a row for each message, or JSON.
func list[M proto.Message](o output, to terminal, printed *table, messages []M, row func(M) []string) error {
	if o.JSON {
		return lines(to, messages...)
	}
	for _, message := range messages {
		printed.add(row(message)...)
	}
	return printed.print(to)
}

// listing selects the form of a list whose rows begin with an id.
type listing struct {
	output
	IDs bool `name:"ids" xor:"form" help:"Print ids alone, one per line."`
}

// listOf prints what list prints, or the ids.
func listOf[M proto.Message](l listing, to terminal, printed *table, messages []M, row func(M) []string) error {
	if !l.IDs {
		return list(l.output, to, printed, messages, row)
	}
	for _, message := range messages {
		if err := printLine(to, row(message)[0]); err != nil {
			return err
		}
	}
	return nil
}

// show prints one message, either with a line for each field or as JSON.
func show[M proto.Message](o output, to terminal, message M, of func(M) fields) error {
	if o.JSON {
		return lines(to, message)
	}
	return of(message).print(to)
}

// printObject prints a value that is no message of the contract as JSON on one line.
func printObject(to terminal, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(to.stdout, harmless(text.Bytes()))
	return err
}

// printLine prints a text of one line.
func printLine(to terminal, text string) error {
	_, err := fmt.Fprintln(to.stdout, escaped(text))
	return err
}

// printPayload prints a payload alone: on several lines for people, on one line for programs.
func printPayload(to terminal, payload *structpb.Struct) error {
	text, err := jsonform.Encode(payload)
	if err != nil {
		return err
	}
	if isTerminal(to.stdout) {
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			return err
		}
		text = indented.Bytes()
	}
	_, err = io.WriteString(to.stdout, harmless(text)+"\n")
	return err
}

// harmless escapes characters in JSON that a terminal could take for a command. The result is the same JSON value.
func harmless(text []byte) string {
	var out strings.Builder
	for _, c := range string(text) {
		switch {
		case c == '\n' || !isCommand(c):
			out.WriteRune(c)
		case c >= 0x10000:
			high, low := utf16.EncodeRune(c)
			_, _ = fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			_, _ = fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.String()
}

// inline returns an object's JSON for a table cell; an empty string for an empty object.
func inline(object *structpb.Struct) string {
	if len(object.GetFields()) == 0 {
		return ""
	}
	text, err := jsonform.Encode(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// word returns an enum's value as the protocol writes it: request, open, active.
func word(value protoreflect.Enum) string {
	values := value.Descriptor().Values()
	prefix := strings.TrimSuffix(string(values.ByNumber(0).Name()), "UNSPECIFIED")
	if named := values.ByNumber(value.Number()); named != nil && value.Number() != 0 {
		return strings.ToLower(strings.TrimPrefix(string(named.Name()), prefix))
	}
	return ""
}

// clock formats a time for people, in their own time zone; an empty string for no time.
func clock(at *timestamppb.Timestamp) string {
	if at == nil {
		return ""
	}
	return at.AsTime().Local().Format(time.DateTime)
}
