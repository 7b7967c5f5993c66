package main

import "strings"

// annotations are the beginnings of the imports and of the options that are left out.
var annotations = []string{`import "buf/`, `import "google/api/`, "option (buf.", "option (google.api."}

// plain returns the text of a proto without annotations. Comments stay. The text may be formatted badly afterwards.
func plain(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		switch end := tokenEnd(text, i); {
		case isComment(rest):
			out.WriteString(text[i:end])
			i = end
		case beginsWithAny(rest, annotations):
			i = statementEnd(text, i)
		case rest[0] == '[':
			end := closing(text, i)
			out.WriteString(plainOptions(text[i+1 : end-1]))
			i = end
		default:
			out.WriteString(text[i:end])
			i = end
		}
	}
	return out.String()
}

// plainOptions returns the options of a field or a value that are no annotations, in brackets; nothing if none is left.
func plainOptions(text string) string {
	var kept []string
	begin := 0
	keep := func(end int) {
		option := strings.TrimSpace(text[begin:end])
		if option != "" && !beginsWithAny(option, []string{"(buf.", "(google.api."}) {
			kept = append(kept, option)
		}
	}
	for i := 0; i < len(text); {
		switch text[i] {
		case '[', '{':
			i = closing(text, i)
		case ',':
			keep(i)
			i++
			begin = i
		default:
			i = tokenEnd(text, i)
		}
	}
	keep(len(text))
	if len(kept) == 0 {
		return ""
	}
	return "[" + strings.Join(kept, ", ") + "]"
}

// statementEnd returns the place after the semicolon that ends the statement that begins at i.
func statementEnd(text string, i int) int {
	for text[i] != ';' {
		if text[i] == '{' || text[i] == '[' {
			i = closing(text, i)
			continue
		}
		i = tokenEnd(text, i)
	}
	return i + 1
}

// closing returns the place after the bracket that closes the one at i.
func closing(text string, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		i = tokenEnd(text, i)
		if depth == 0 {
			return i
		}
	}
}

// tokenEnd returns the place after the comment, the string or the single character at i.
func tokenEnd(text string, i int) int {
	switch {
	case isComment(text[i:]):
		for i < len(text) && text[i] != '\n' {
			i++
		}
		return i
	case text[i] == '"':
		for i++; text[i] != '"'; i++ {
			if text[i] == '\\' {
				i++
			}
		}
	}
	return i + 1
}

func isComment(text string) bool { return strings.HasPrefix(text, "//") }

func beginsWithAny(text string, beginnings []string) bool {
	for _, beginning := range beginnings {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}
