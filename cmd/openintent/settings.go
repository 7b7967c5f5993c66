package main

import (
	"errors"
	"os"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"openintent/server"
)

var (
	settingName = regexp.MustCompile(`OPENINTENT_[A-Z_]+|--[a-z][a-z-]+`)
	// variableSuffix is how the parser says that a value came from the environment.
	variableSuffix = regexp.MustCompile(` \(from envar .*\)$`)
)

// asGiven puts into a sentence about settings the names under which the user gave them: the flag, the variable, or the name in
// the settings file. What was not given at all keeps its name.
func asGiven(text string, parsed *kong.Context) string {
	names := make(map[string]string)
	given, inFile := make(map[string]bool), make(map[string]bool)
	for _, part := range parsed.Path {
		if part.Flag != nil {
			given[part.Flag.Name], inFile[part.Flag.Name] = !part.Resolved, part.Resolved
		}
	}
	for _, flag := range parsed.Flags() {
		for _, variable := range flag.Envs {
			switch {
			case given[flag.Name]:
				names[variable] = "--" + flag.Name
			case inFile[flag.Name]:
				names[variable] = flag.Name + " of the settings file"
				names["--"+flag.Name] = names[variable]
			case os.Getenv(variable) != "":
				names["--"+flag.Name] = variable
			}
		}
	}
	return settingName.ReplaceAllStringFunc(variableSuffix.ReplaceAllString(text, ""), func(name string) string {
		if better := names[name]; better != "" {
			return better
		}
		return name
	})
}

// refusedSetting gives the server's refusal of a setting the exit code of a command line that was not understood.
func refusedSetting(err error, parsed *kong.Context) error {
	var refused *server.SettingError
	if !errors.As(err, &refused) {
		return err
	}
	return usagef("%s", strings.TrimSpace(asGiven(err.Error(), parsed)))
}
