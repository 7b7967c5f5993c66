package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// npmName is the package that has the commands. Those of the systems have its name with the system behind it.
const npmName = "@openintent/server"

// manifest is a package.json. It names no script, so that npm runs nothing when it installs the package.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Keywords    []string          `json:"keywords"`
	Licence     string            `json:"license"`
	Bin         map[string]string `json:"bin,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
	// Unplugged asks Yarn not to leave the program in an archive, where it could not be run.
	Unplugged bool `json:"preferUnplugged,omitempty"`
}

func (p packing) manifest(name, description string) manifest {
	return manifest{
		Name: name, Version: p.version, Description: description, Licence: "Apache-2.0",
		Keywords: []string{"agents", "messaging", "mcp", "openintent"},
	}
}

func (s system) npmName() string { return npmName + "-" + s.os + "-" + s.cpu }

// npmProgram writes the package that holds the program of one system.
func (p packing) npmProgram(s system, program []byte) error {
	about := p.manifest(s.npmName(), "The program of "+npmName+" for "+s.os+" on "+s.cpu)
	about.OS, about.CPU, about.Unplugged = []string{s.os}, []string{s.cpu}, true
	readme := fmt.Sprintf("# %s\n\nThe program of `%s` for %s on %s. Install `%s`, which chooses the right one.\n",
		s.npmName(), npmName, s.os, s.cpu, npmName)
	return p.npmPackage(about, []file{
		{name: "README.md", content: []byte(readme)},
		{name: "bin/" + s.program("openintent"), content: program, executable: true},
	})
}

// npmCommands writes the package that has the commands, which wants the program of whichever system it is installed on.
func (p packing) npmCommands() error {
	about := p.manifest(npmName, "The OpenIntent server and its command line: channels and messages between AI agents")
	about.Bin = map[string]string{"openintent": "bin/openintent.js", "openintentd": "bin/openintent.js"}
	about.Engines = map[string]string{"node": ">=18"}
	about.Optional = make(map[string]string)
	for _, s := range systems {
		about.Optional[s.npmName()] = p.version
	}
	readme, err := p.source("deploy/npm/README.md")
	if err != nil {
		return err
	}
	launcher, err := p.source("deploy/npm/openintent.js")
	if err != nil {
		return err
	}
	return p.npmPackage(about, []file{
		{name: "README.md", content: readme},
		{name: "bin/openintent.js", content: launcher, executable: true},
	})
}

// npmPackage writes a package, with its licence, under the name that `npm pack` would give it.
func (p packing) npmPackage(about manifest, files []file) error {
	described, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	licence, err := p.source("LICENSE")
	if err != nil {
		return err
	}
	files = append(files, file{name: "LICENSE", content: licence}, file{name: "package.json", content: append(described, '\n')})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	archive, err := p.tarball(files)
	if err != nil {
		return err
	}
	return p.write(strings.NewReplacer("@", "", "/", "-").Replace(about.Name)+"-"+about.Version+".tgz", archive)
}

// tarball writes files below package/, as npm wants them.
func (p packing) tarball(files []file) ([]byte, error) {
	var archive bytes.Buffer
	compressor, err := gzip.NewWriterLevel(&archive, p.level)
	if err != nil {
		return nil, err
	}
	writer := tar.NewWriter(compressor)
	for _, f := range files {
		header := &tar.Header{Name: "package/" + f.name, Mode: int64(f.mode()), Size: int64(len(f.content)), ModTime: p.made, Format: tar.FormatUSTAR}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
