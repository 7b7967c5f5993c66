// Command protoc-gen-rest-openapi is a protoc plugin that runs protoc-gen-openapiv2 and corrects its description of
// the JSON form. The stock plugin describes protojson: enum values by their proto names and 64-bit integers as
// strings. Our REST answers have the RFC's short lower-case words ("request" for MESSAGE_TYPE_REQUEST) and plain
// numbers.
//
// It takes the stock plugin's options. On any failure it writes nothing to standard output and exits with 1.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "protoc-gen-rest-openapi:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	input, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	request := new(pluginpb.CodeGeneratorRequest)
	if err := proto.Unmarshal(input, request); err != nil {
		return err
	}

	stock := exec.Command("go", "tool", "protoc-gen-openapiv2")
	stock.Stdin = bytes.NewReader(input)
	stock.Stderr = os.Stderr
	output, err := stock.Output()
	if err != nil {
		return fmt.Errorf("protoc-gen-openapiv2: %w", err)
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(output, response); err != nil {
		return err
	}

	words := enumWords(request.GetProtoFile())
	for _, file := range response.GetFile() {
		file.Content = proto.String(restForm(file.GetContent(), words))
	}
	output, err = proto.Marshal(response)
	if err != nil {
		return err
	}
	_, err = out.Write(output)
	return err
}

// enumWords maps the proto name of each enum value to its word in JSON. The prefix to remove is the text before
// UNSPECIFIED in the enum's zero value; enums without such a value are not ours and are left out.
func enumWords(files []*descriptorpb.FileDescriptorProto) map[string]string {
	words := make(map[string]string)
	add := func(enums []*descriptorpb.EnumDescriptorProto) {
		for _, enum := range enums {
			prefix, ok := strings.CutSuffix(enum.GetValue()[0].GetName(), "UNSPECIFIED")
			if !ok {
				continue
			}
			for _, value := range enum.GetValue()[1:] {
				words[value.GetName()] = strings.ToLower(strings.TrimPrefix(value.GetName(), prefix))
			}
		}
	}
	var descend func(messages []*descriptorpb.DescriptorProto)
	descend = func(messages []*descriptorpb.DescriptorProto) {
		for _, message := range messages {
			add(message.GetEnumType())
			descend(message.GetNestedType())
		}
	}
	for _, file := range files {
		if !strings.HasPrefix(file.GetPackage(), "openintent.") {
			continue
		}
		add(file.GetEnumType())
		descend(file.GetMessageType())
	}
	return words
}

var (
	protoName = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b`)
	longInt   = regexp.MustCompile(`"type": "string",(\s+)"format": "(u?int64)"`)
)

// restForm works on the text, not on a decoded document, to keep the order of the fields in the protos.
func restForm(document string, words map[string]string) string {
	document = protoName.ReplaceAllStringFunc(document, func(name string) string {
		if word, ok := words[name]; ok {
			return word
		}
		return name
	})
	return longInt.ReplaceAllString(document, `"type": "integer",$1"format": "$2"`)
}
