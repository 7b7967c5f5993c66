package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	openintentv1 "openintent/gen/openintent/v1"
)

// route is one HTTP binding of a method, as its annotation declares it.
type route struct {
	verb string
	// method is what the binding calls, and rule is the annotation.
	method protoreflect.MethodDescriptor
	rule   *annotations.HttpRule
	// segments are the path's segments, parameters in braces: "v1", "channels", "{channel_id}".
	segments []string
	// input is the request's type.
	input protoreflect.MessageType
	// body is the request's field that the body fills, "*" for the whole request, or empty when there is no body.
	body string
	// parameters are the query keys, by name.
	parameters map[string]protoreflect.FieldDescriptor
}

// routes are all bindings of the contract, in the order of the protos. So /events/verify comes after
// /events/{event_id} and, as in the gateway, the later one wins.
type routes struct {
	all []*route
	// byPattern finds a route by its verb and its path with every parameter as "*".
	byPattern map[string]*route
}

// newRoutes reads the bindings from the descriptors of the generated code.
func newRoutes() (*routes, error) {
	table := &routes{byPattern: make(map[string]*route)}
	var failed error
	protoregistry.GlobalFiles.RangeFilesByPackage(openintentv1.File_openintent_v1_common_proto.Package(),
		func(file protoreflect.FileDescriptor) bool {
			failed = table.addFile(file)
			return failed == nil
		})
	return table, failed
}

func (t *routes) addFile(file protoreflect.FileDescriptor) error {
	for i := range file.Services().Len() {
		methods := file.Services().Get(i).Methods()
		for j := range methods.Len() {
			rule, ok := proto.GetExtension(methods.Get(j).Options(), annotations.E_Http).(*annotations.HttpRule)
			if !ok || rule == nil {
				continue
			}
			for _, binding := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
				if err := t.add(methods.Get(j), binding); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t *routes) add(method protoreflect.MethodDescriptor, binding *annotations.HttpRule) error {
	verb, path := verbAndPath(binding)
	if verb == "" {
		return fmt.Errorf("%s: its HTTP binding has a kind that the gateway does not know", method.FullName())
	}
	input, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
	if err != nil {
		return fmt.Errorf("%s: its request's type is not registered: %w", method.FullName(), err)
	}
	r := &route{
		verb:       verb,
		method:     method,
		rule:       binding,
		segments:   strings.Split(strings.TrimPrefix(path, "/"), "/"),
		input:      input,
		body:       binding.GetBody(),
		parameters: make(map[string]protoreflect.FieldDescriptor),
	}
	if r.body == "" {
		r.addParameters()
	}
	t.all = append(t.all, r)
	t.byPattern[verb+" "+patternOf(r.segments)] = r
	return nil
}

// addParameters makes every field that is not in the path a query key. A request with a body has no query keys.
func (r *route) addParameters() {
	fields := r.input.Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		if !slices.Contains(r.segments, "{"+name+"}") {
			r.parameters[name] = fields.Get(i)
		}
	}
}

func verbAndPath(binding *annotations.HttpRule) (verb, path string) {
	switch pattern := binding.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, pattern.Get
	case *annotations.HttpRule_Post:
		return http.MethodPost, pattern.Post
	case *annotations.HttpRule_Put:
		return http.MethodPut, pattern.Put
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, pattern.Patch
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, pattern.Delete
	}
	return "", ""
}

// patternOf writes a path as the gateway writes its patterns: /v1/channels/{channel_id=*}.
func patternOf(segments []string) string {
	var out strings.Builder
	for _, segment := range segments {
		out.WriteByte('/')
		if name, ok := strings.CutSuffix(segment, "}"); ok {
			segment = name + "=*}"
		}
		out.WriteString(segment)
	}
	return out.String()
}

// find returns the route of a verb and one of the gateway's patterns.
func (t *routes) find(verb, pattern string) (*route, bool) {
	r, ok := t.byPattern[verb+" "+pattern]
	return r, ok
}

// allowed lists the verbs that a path answers to, sorted; the list is empty for an unknown path.
func (t *routes) allowed(path string) []string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var verbs []string
	for _, r := range t.all {
		if !r.matches(segments) {
			continue
		}
		verbs = append(verbs, r.verb)
		if r.verb == http.MethodGet {
			verbs = append(verbs, http.MethodHead)
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

// verbs are the verbs that some path answers to, sorted.
func (t *routes) verbs() []string {
	verbs := []string{http.MethodGet, http.MethodHead}
	for _, r := range t.all {
		verbs = append(verbs, r.verb)
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

func (r *route) matches(segments []string) bool {
	return slices.EqualFunc(r.segments, segments, func(own, other string) bool {
		return own == other || strings.HasPrefix(own, "{")
	})
}
