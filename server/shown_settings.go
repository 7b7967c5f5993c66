package server

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
)

// secretSettings are those that nobody is shown: what others could come in with, and addresses that may hold a password.
var secretSettings = []string{"OPENINTENT_API_KEYS", "OPENINTENT_DATABASE_URL", "OPENINTENT_OIDC_CLIENT_SECRET", "OPENINTENT_MAIL_RELAY"}

// shown returns the settings that hold no secret, by the names of their variables.
func (c Config) shown() (shown []*openintentv1.ServerSetting) {
	set, usual := reflect.ValueOf(c), reflect.ValueOf(DefaultConfig())
	for i := range set.NumField() {
		name := set.Type().Field(i).Tag.Get("env")
		if name == "" || slices.Contains(secretSettings, name) {
			continue
		}
		shown = append(shown, &openintentv1.ServerSetting{
			Name: name, Value: fmt.Sprint(set.Field(i).Interface()), IsDefault: set.Field(i).Equal(usual.Field(i)),
		})
	}
	slices.SortFunc(shown, func(a, b *openintentv1.ServerSetting) int { return strings.Compare(a.GetName(), b.GetName()) })
	return shown
}
