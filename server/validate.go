package server

import (
	"errors"
	"fmt"
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/internal/fault"
)

// validator checks requests against the rules in their protos.
type validator struct {
	rules protovalidate.Validator
	// simple has the rules of those requests whose rules are simple (validate_simple.go).
	simple map[protoreflect.FullName][]numberList
}

// freeForm is the type of payloads and of all other fields that take any JSON object. No rule can apply to its
// content.
const freeForm protoreflect.FullName = "google.protobuf.Struct"

// outsideFreeForm keeps the validator from walking through every value of a payload.
var outsideFreeForm = protovalidate.WithFilter(protovalidate.FilterFunc(
	func(_ protoreflect.Message, about protoreflect.Descriptor) bool {
		return about.Parent().FullName() != freeForm
	}))

// newValidator compiles the rules of all methods' requests, so that no call pays for the compilation and a bad rule
// prevents the start.
func newValidator(methods map[string]*method) (*validator, error) {
	var inputs []protoreflect.MessageDescriptor
	allSimple := make(map[protoreflect.FullName][]numberList)
	for _, called := range methods {
		if !called.validated {
			continue
		}
		inputs = append(inputs, called.input)
		if lists, simple := simpleRules(called.input); simple {
			allSimple[called.input.FullName()] = lists
		}
	}
	rules, err := protovalidate.New(protovalidate.WithMessageDescriptors(inputs...), protovalidate.WithDisableLazy())
	if err != nil {
		return nil, fmt.Errorf("compiling the validation rules: %w", err)
	}
	return &validator{rules: rules, simple: allSimple}, nil
}

// check refuses a request that breaks its rules, naming every bad field.
func (v *validator) check(request proto.Message) error {
	if v.keepsSimple(request.ProtoReflect()) {
		return nil
	}
	err := v.rules.Validate(request, outsideFreeForm)
	if err == nil {
		return nil
	}
	var broken *protovalidate.ValidationError
	if !errors.As(err, &broken) {
		return fmt.Errorf("validating %s: %w", request.ProtoReflect().Descriptor().FullName(), err)
	}
	fields := make([]fault.Field, 0, len(broken.Violations))
	for _, violation := range broken.Violations {
		fields = append(fields, fault.Field{
			Path:        protovalidate.FieldPathString(violation.Proto.GetField()),
			Description: describe(violation),
		})
	}
	return invalidFields(fields)
}

// describe states what would be right, in the words that clients know: enum values by their short names, not numbers.
func describe(violation *protovalidate.Violation) string {
	rule := violation.Proto.GetRuleId()
	switch {
	case rule == "required" && isOneof(violation):
		return "one of its fields must be given"
	case rule == "required":
		return "must be given"
	case strings.HasPrefix(rule, "enum."):
		return "must be one of " + strings.Join(allowedWords(violation), ", ")
	case rule == "string.min_len" && violation.RuleValue.Uint() == 1:
		return "must not be empty"
	case rule == "string.pattern":
		return fmt.Sprintf("must match the pattern %s", violation.RuleValue.String())
	}
	return violation.Proto.GetMessage()
}

// isOneof reports whether the violation is about a oneof, which has a name but is not a field.
func isOneof(violation *protovalidate.Violation) bool {
	return violation.FieldDescriptor == nil
}

// allowedWords lists the short lower-case words of the enum values that the broken rule allows.
func allowedWords(violation *protovalidate.Violation) []string {
	enum := violation.FieldDescriptor.Enum()
	prefix := strings.TrimSuffix(string(enum.Values().ByNumber(0).Name()), "UNSPECIFIED")
	var only protoreflect.List
	if violation.Proto.GetRuleId() == "enum.in" {
		only = violation.RuleValue.List()
	}
	var words []string
	for i := range enum.Values().Len() {
		value := enum.Values().Get(i)
		if value.Number() == 0 || only != nil && !contains(only, value.Number()) {
			continue
		}
		words = append(words, strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix)))
	}
	return words
}

func contains(numbers protoreflect.List, number protoreflect.EnumNumber) bool {
	for i := range numbers.Len() {
		if numbers.Get(i).Int() == int64(number) {
			return true
		}
	}
	return false
}
