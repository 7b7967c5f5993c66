package jsonform

import (
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// vocabulary holds the words of one enum. The zero value of every enum means "not given" and has no word.
type vocabulary struct {
	// quoted holds the words as JSON text, by enum number.
	quoted map[protoreflect.EnumNumber]string
	// numbers holds the values by word, including the aliases of existing clients.
	numbers map[string]protoreflect.EnumNumber
	// list names the words, without the aliases, for refusals.
	list string
}

// aliases are words that existing clients send for values for which the RFC has other words.
var aliases = map[protoreflect.FullName]map[string]string{
	"openintent.v1.MessageType":  {"message": "notify"},
	"openintent.v1.MemberPolicy": {"open": "intent"},
	"openintent.v1.AgentStatus": {
		"healthy": "active", "degraded": "active", "busy": "active", "idle": "active",
		"terminated": "deregistered", "offline": "deregistered",
	},
}

// vocabularies holds a *vocabulary for each protoreflect.EnumDescriptor seen so far.
var vocabularies sync.Map

func vocabularyOf(enum protoreflect.EnumDescriptor) *vocabulary {
	if found, ok := vocabularies.Load(enum); ok {
		return found.(*vocabulary)
	}
	made, _ := vocabularies.LoadOrStore(enum, newVocabulary(enum))
	return made.(*vocabulary)
}

func newVocabulary(enum protoreflect.EnumDescriptor) *vocabulary {
	v := &vocabulary{
		quoted:  make(map[protoreflect.EnumNumber]string),
		numbers: make(map[string]protoreflect.EnumNumber),
	}
	var list []string
	for i := range enum.Values().Len() {
		value := enum.Values().Get(i)
		if value.Number() == 0 {
			continue
		}
		word := WordOf(value)
		v.quoted[value.Number()] = strconv.Quote(word)
		v.numbers[word] = value.Number()
		list = append(list, strconv.Quote(word))
	}
	for alias, word := range aliases[enum.FullName()] {
		v.numbers[alias] = v.numbers[word]
	}
	v.list = strings.Join(list, ", ")
	return v
}

// WordOf returns the word of an enum value: for MESSAGE_TYPE_REQUEST it is "request".
func WordOf(value protoreflect.EnumValueDescriptor) string {
	prefix := screamingSnake(string(value.Parent().Name())) + "_"
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
}

// screamingSnake converts MessageType to MESSAGE_TYPE.
func screamingSnake(name string) string {
	var out strings.Builder
	for i, c := range name {
		if i > 0 && c >= 'A' && c <= 'Z' {
			out.WriteByte('_')
		}
		out.WriteRune(c)
	}
	return strings.ToUpper(out.String())
}

// find returns the value of a word, or a description of what is wrong with the word.
func (v *vocabulary) find(word string) (protoreflect.EnumNumber, string) {
	number, ok := v.numbers[word]
	if !ok {
		return 0, "must be one of " + v.list + "."
	}
	return number, ""
}
