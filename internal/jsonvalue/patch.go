package jsonvalue

import (
	"maps"
	"slices"
	"strings"
)

// The operations on an intent's state.
const (
	// OpSet puts the value at the path, and makes the objects that lead there.
	OpSet = "set"
	// OpAppend puts the value at the end of the list at the path, and makes the list if there is none.
	OpAppend = "append"
	// OpRemove removes the member at the path. It changes nothing if there is no such member.
	OpRemove = "remove"
)

// Operation is one change of an object.
type Operation struct {
	// Op is OpSet, OpAppend or OpRemove.
	Op string
	// Path names the member to change; it leads only through objects. With a leading slash it is a JSON Pointer, where ~1
	// is a slash and ~0 a tilde. Otherwise it consists of keys between slashes, without escapes.
	Path string
	// Value is JSON text that Check has accepted; nil for OpRemove.
	Value []byte
}

// Apply returns the object after all operations, which it does one after the other; an absent object counts as {}. It does
// nothing if one operation fails: because the operation or its path is malformed, because the path leads through a value that
// is not an object, because OpAppend finds a value that is not a list, or because the result would break the rules of Check.
// The violation's path names the operation: patches[2].path.
func (o Object) Apply(ops []Operation) (Object, error) {
	root := &node{text: o.OrEmpty()}
	for i, op := range ops {
		if v := root.apply(op); v != nil {
			return nil, v.underIndex(i).underRoot("patches")
		}
	}
	out := root.write(nil)
	if err := Check(out, "state"); err != nil {
		return nil, err
	}
	return out, nil
}

// node is a value within the object that Apply changes. It stays text until a path leads through it.
type node struct {
	// text is the compact text as it was read.
	text []byte
	// members are set once a path has led into this object; they then replace text.
	members map[string]*node
	// appended are the values that follow the elements of the list in text.
	appended [][]byte
}

func (n *node) apply(op Operation) *Violation {
	keys, v := splitPath(op.Path)
	if v != nil {
		return v.under(".path")
	}
	if op.Op != OpSet && op.Op != OpAppend && op.Op != OpRemove {
		return refuse("%s is not an operation; use set, append or remove.", quoteKey([]byte(op.Op))).under(".op")
	}
	if op.Op != OpRemove && len(op.Value) == 0 {
		return refuse("%s needs a value; null is one.", op.Op).under(".value")
	}
	parent, v := n.parent(keys, op.Op != OpRemove)
	if v != nil {
		return v.under(".path")
	}
	last := keys[len(keys)-1]
	switch op.Op {
	case OpSet:
		parent.members[last] = &node{text: compact(op.Value)}
	case OpAppend:
		if v := parent.append(last, compact(op.Value)); v != nil {
			return v.under(".path")
		}
	case OpRemove:
		if parent != nil {
			delete(parent.members, last)
		}
	}
	return nil
}

// parent finds the object that contains the last of the keys. If there is none, it makes one if create is true, and otherwise
// returns nil.
func (n *node) parent(keys []string, create bool) (*node, *Violation) {
	for i, key := range keys {
		if !n.open() {
			return nil, refuse("the path leads through %s, which is not an object.", quoteKey([]byte(keys[i-1])))
		}
		if i == len(keys)-1 {
			break
		}
		next := n.members[key]
		if next == nil {
			if !create {
				return nil, nil
			}
			next = &node{text: []byte("{}")}
			n.members[key] = next
		}
		n = next
	}
	return n, nil
}

// open reads the members of an object, each still as text. It returns false if the node is not an object.
func (n *node) open() bool {
	if n.members != nil {
		return true
	}
	if n.text[0] != '{' {
		return false
	}
	n.members = make(map[string]*node)
	c := cursor{text: n.text}
	for key := range c.members {
		n.members[string(unescape(key))] = &node{text: c.skip()}
	}
	return true
}

// append adds a value to the list under that key among the members.
func (n *node) append(key string, value []byte) *Violation {
	list := n.members[key]
	if list == nil {
		list = &node{text: []byte("[]")}
		n.members[key] = list
	}
	if list.text[0] != '[' {
		return refuse("%s is not a list, so nothing can be appended to it.", quoteKey([]byte(key)))
	}
	list.appended = append(list.appended, value)
	return nil
}

// write appends the compact text. Members of objects that were opened come out in canonical order.
func (n *node) write(out []byte) []byte {
	switch {
	case n.members != nil:
		out = append(out, '{')
		for _, key := range slices.SortedFunc(maps.Keys(n.members), compareKeys[string]) {
			out = append(appendString(out, key), ':')
			out = append(n.members[key].write(out), ',')
		}
		return closed(out, '}')
	case n.appended != nil:
		out = append(out, n.text[:len(n.text)-1]...)
		if len(n.text) > len("[]") {
			out = append(out, ',')
		}
		for _, value := range n.appended {
			out = append(append(out, value...), ',')
		}
		return closed(out, ']')
	default:
		return append(out, n.text...)
	}
}

// splitPath returns the keys of an operation's path, at least one and at most MaxDepth.
func splitPath(path string) ([]string, *Violation) {
	if path == "" {
		return nil, refuse("must name a key of the state.")
	}
	if strings.Count(path, "/") > MaxDepth {
		return nil, tooDeep()
	}
	pointer, isPointer := strings.CutPrefix(path, "/")
	if !isPointer {
		return strings.Split(path, "/"), nil
	}
	keys := strings.Split(pointer, "/")
	for i, key := range keys {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(key), "~") {
			return nil, refuse("%s is not a JSON Pointer: a tilde must be written as ~0.", quoteKey([]byte(path)))
		}
		keys[i] = strings.NewReplacer("~0", "~", "~1", "/").Replace(key)
	}
	return keys, nil
}
