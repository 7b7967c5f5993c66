package server

import (
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// numberList is a field with a list of numbers. The contract bounds how many numbers it has and how small they are.
type numberList struct {
	field protoreflect.FieldDescriptor
	most  int
	least int64
}

// simpleRules returns the rules of a request, if it has none but for lists of numbers. Such a request names what is acknowledged: there are as
// many of these as there are deliveries, and to look at the numbers is much cheaper here than by the validator.
func simpleRules(request protoreflect.MessageDescriptor) (lists []numberList, simple bool) {
	if proto.HasExtension(request.Options(), validate.E_Message) || request.Oneofs().Len() > 0 {
		return nil, false
	}
	for i := range request.Fields().Len() {
		field := request.Fields().Get(i)
		rules, _ := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
		switch list, is := numberListOf(field, rules); {
		case is:
			lists = append(lists, list)
		case rules != nil, field.Message() != nil:
			return nil, false
		}
	}
	return lists, true
}

// numberListOf returns the list that a field is, if its rules say no more than that.
func numberListOf(field protoreflect.FieldDescriptor, rules *validate.FieldRules) (list numberList, is bool) {
	repeated := rules.GetRepeated()
	list = numberList{field: field, most: int(repeated.GetMaxItems()), least: repeated.GetItems().GetInt64().GetGte()} //nolint:gosec // a bound
	known := validate.FieldRules_builder{Repeated: validate.RepeatedRules_builder{
		MaxItems: new(repeated.GetMaxItems()),
		Items:    validate.FieldRules_builder{Int64: validate.Int64Rules_builder{Gte: &list.least}.Build()}.Build(),
	}.Build()}.Build()
	return list, proto.Equal(rules, known)
}

// keepsSimple reports whether a request has only simple rules and keeps them. If it breaks one, the validator says how.
func (v *validator) keepsSimple(request protoreflect.Message) bool {
	lists, simple := v.simple[request.Descriptor().FullName()]
	return simple && !slices.ContainsFunc(lists, func(l numberList) bool { return !l.keeps(request) })
}

// keeps reports whether a request keeps the rule.
func (l numberList) keeps(request protoreflect.Message) bool {
	numbers := request.Get(l.field).List()
	if numbers.Len() > l.most {
		return false
	}
	for i := range numbers.Len() {
		if numbers.Get(i).Int() < l.least {
			return false
		}
	}
	return true
}
