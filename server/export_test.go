package server

import "strings"

// ChargedMethods returns the methods that are charged for what they store, as Service/Method.
func ChargedMethods() (charged []string) {
	for name, granted := range policies {
		if granted.effect == writes && granted.free == "" {
			charged = append(charged, strings.TrimPrefix(name, "/openintent.v1."))
		}
	}
	return charged
}
