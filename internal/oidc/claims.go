package oidc

import "strings"

// Strings returns the texts of a claim: one, or those of a list. A name with points that is no claim's own leads into objects, as
// in realm_access.roles. wellFormed is false if there is a claim of the name, and it holds anything else.
func (t *Token) Strings(claim string) (texts []string, wellFormed bool) {
	switch value := find(t.claims, claim).(type) {
	case nil:
		return nil, true
	case string:
		return []string{value}, true
	case []any:
		for _, entry := range value {
			text, ok := entry.(string)
			if !ok {
				return nil, false
			}
			texts = append(texts, text)
		}
		return texts, true
	}
	return nil, false
}

// IsTrue reports whether a claim is true. Its name is read as that of Strings is.
func (t *Token) IsTrue(claim string) bool {
	value, isBool := find(t.claims, claim).(bool)
	return isBool && value
}

func find(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	outer, inner, nested := strings.Cut(name, ".")
	if object, ok := claims[outer].(map[string]any); ok && nested {
		return find(object, inner)
	}
	return nil
}
