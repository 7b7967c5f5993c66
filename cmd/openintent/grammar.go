package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// grammar returns the commands that a command line needs: the one that its first word names, and the program's own flags. The parser
// takes longer to read the descriptions of all commands than most commands take. Help, completion, the manual page and
// suggestions for a misspelt verb need them all.
func grammar(arguments []string) any {
	first := arguments[0]
	if first == "help" || first == "complete" || first == "man" || slices.Contains(arguments, "--help") || slices.Contains(arguments, "-h") {
		return &commands{}
	}
	var needed []reflect.StructField
	named := false
	for _, field := range reflect.VisibleFields(reflect.TypeFor[commands]()) {
		if _, isCommand := field.Tag.Lookup("cmd"); !isCommand {
			needed = append(needed, field)
		} else if cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)) == first {
			needed, named = append(needed, field), true
		}
	}
	if !named {
		return &commands{}
	}
	return reflect.New(reflect.StructOf(needed)).Interface()
}
