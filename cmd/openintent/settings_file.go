package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// settingsFlag names the file from which the server's settings come, beside flags and variables.
const settingsFlag = "settings-file"

// maxSettingsBytes bounds the settings file. All settings with their descriptions are a tenth of it.
const maxSettingsBytes = 256 << 10

// settingsFile holds the settings of a file by the names of their flags. A flag of the command line precedes it, and so does a
// variable.
type settingsFile struct {
	path   string
	values map[string]*yaml.Node
}

// readSettings reads a file for the flags of a command. Its errors are sentences for the operator. They never quote a value, which
// may be a key.
func readSettings(path string, flags []*kong.Flag) (*settingsFile, error) {
	read := &settingsFile{path: path, values: make(map[string]*yaml.Node)}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the settings file cannot be read: %w", err)
	}
	if len(text) > maxSettingsBytes {
		return nil, fmt.Errorf("the settings file %s has more than %d bytes, so it is none", path, maxSettingsBytes)
	}
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err = decoder.Decode(&document)
	if err == nil && decoder.Decode(&more) == nil {
		return nil, fmt.Errorf("the settings file %s holds several YAML documents; put all settings into one", path)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		// The decoder's own message may quote the file, and with it a key.
		return nil, fmt.Errorf("the settings file %s is not YAML", path)
	}
	if len(document.Content) == 0 || isNothing(document.Content[0]) {
		return read, nil
	}
	if err := read.take(document.Content[0], flags); err != nil {
		return nil, fmt.Errorf("the settings file %s, %w", path, err)
	}
	return read, nil
}

// take takes the settings of a mapping and refuses what is none.
func (f *settingsFile) take(mapping *yaml.Node, flags []*kong.Flag) error {
	if mapping.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: it must be a mapping of settings, such as http-addr: 127.0.0.1:8000", mapping.Line)
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		at := slices.IndexFunc(flags, func(flag *kong.Flag) bool { return isSetting(flag) && flag.Name == name.Value })
		if at < 0 || name.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: there is no setting of this name%s", name.Line, suggestion(name.Value, settingNames(flags)))
		}
		if f.values[name.Value] != nil {
			return fmt.Errorf("line %d: %s is set twice; keep one of the two", name.Line, name.Value)
		}
		if isNothing(value) {
			continue
		}
		if problem := misfit(flags[at], value); problem != "" {
			return fmt.Errorf("line %d: %s %s", value.Line, name.Value, problem)
		}
		f.values[name.Value] = value
	}
	return nil
}

// isNothing reports whether a value leaves its setting out, as an empty variable does.
func isNothing(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && (node.Value == "" || node.ShortTag() == "!!null")
}

// isSetting tells the settings, which have a variable each, from flags such as --help. The file does not name itself.
func isSetting(flag *kong.Flag) bool { return len(flag.Envs) > 0 && flag.Name != settingsFlag }

func settingNames(flags []*kong.Flag) (names []string) {
	for _, flag := range flags {
		if isSetting(flag) {
			names = append(names, flag.Name)
		}
	}
	return names
}

// misfit says what a value must be if it does not fit a flag.
func misfit(flag *kong.Flag, value *yaml.Node) string {
	of, tag := flag.Target.Type(), ""
	if value.Kind == yaml.ScalarNode {
		tag = value.ShortTag()
	}
	switch {
	case of == reflect.TypeFor[time.Duration]():
		if _, err := parseDuration(value.Value); err != nil || !slices.Contains([]string{"!!str", "!!int", "!!float"}, tag) {
			return "must be a duration, such as 30 (seconds), 500ms or 24h"
		}
	case of.Kind() == reflect.Bool && tag != "!!bool":
		return "must be true or false"
	case of.Kind() == reflect.Int || of.Kind() == reflect.Int64:
		if number := int64(0); tag != "!!int" || value.Decode(&number) != nil {
			return "must be a whole number"
		}
	case of.Kind() == reflect.String && tag != "!!str":
		return `must be text; put what looks like a number into quotes, and a list into one text with commas`
	}
	return ""
}

// Validate has nothing to refuse: take has done so.
func (f *settingsFile) Validate(*kong.Application) error { return nil }

// Resolve gives a flag that the command line does not have its value of the file, unless its variable is set.
func (f *settingsFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value := f.values[flag.Name]
	if value == nil || !isSetting(flag) || slices.ContainsFunc(flag.Envs, func(variable string) bool { return os.Getenv(variable) != "" }) {
		return nil, nil
	}
	return value.Value, nil
}

// holdsSecret reports whether somebody who reads the file learns a key or a password.
func (f *settingsFile) holdsSecret() bool {
	if f.values["api-keys"] != nil || f.values["oidc-client-secret"] != nil {
		return true
	}
	if relay := f.values["mail-relay"]; relay != nil && strings.Contains(relay.Value, "@") {
		return true
	}
	database := f.values["database-url"]
	if database == nil {
		return false
	}
	address, err := url.Parse(database.Value)
	if err != nil {
		return true
	}
	_, inside := address.User.Password()
	return inside || address.Query().Has("password") || strings.Contains(database.Value, "password=")
}

// BeforeResolve reads the settings file, if there is one.
func (c *serveCommand) BeforeResolve(parsed *kong.Context) error {
	flags := parsed.Flags()
	at := slices.IndexFunc(flags, func(flag *kong.Flag) bool { return flag.Name == settingsFlag })
	if at < 0 {
		return errors.New("there is no flag --" + settingsFlag)
	}
	path, _ := parsed.FlagValue(flags[at]).(string)
	if path == "" {
		return nil
	}
	read, err := readSettings(path, flags)
	if err != nil {
		return err
	}
	c.SettingsSecret = read.holdsSecret()
	parsed.AddResolver(read)
	return nil
}
