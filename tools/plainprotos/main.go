// Command plainprotos copies protos without the annotations that only this server needs: the HTTP bindings of google.api and the bounds of
// protovalidate. Then programs in other languages need none of their packages.
//
//	plainprotos FROM TO               copies all protos of a folder
//	plainprotos -compare FULL PLAIN   fails unless two descriptor sets have the same messages and services, apart from options
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plainprotos:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 3 && arguments[0] == "-compare":
		return compare(arguments[1], arguments[2])
	case len(arguments) == 2:
		return copyAll(arguments[0], arguments[1])
	}
	return errors.New("usage: plainprotos FROM TO, or plainprotos -compare FULL PLAIN")
}

func copyAll(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.proto"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(plain(string(text))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare compares our files of two descriptor sets.
func compare(full, plain string) error {
	first, err := read(full)
	if err != nil {
		return err
	}
	second, err := read(plain)
	if err != nil {
		return err
	}
	if len(first) == 0 || len(first) != len(second) {
		return fmt.Errorf("%s has %d of our protos, and %s has %d", full, len(first), plain, len(second))
	}
	for name, file := range first {
		if !proto.Equal(file, second[name]) {
			return fmt.Errorf("%s differs in %s and %s by more than options", name, full, plain)
		}
	}
	return nil
}

// read reads our files of a descriptor set, without options, imports and comments.
func read(name string) (map[string]*descriptorpb.FileDescriptorProto, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(text, set); err != nil {
		return nil, err
	}
	files := make(map[string]*descriptorpb.FileDescriptorProto)
	for _, file := range set.GetFile() {
		if strings.HasPrefix(file.GetPackage(), "openintent.") {
			file.Dependency, file.SourceCodeInfo = nil, nil
			clearOptions(file.ProtoReflect())
			files[file.GetName()] = file
		}
	}
	return files, nil
}

func clearOptions(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Name() == "options":
			message.Clear(field)
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				clearOptions(value.List().Get(i).Message())
			}
		}
		return true
	})
}
