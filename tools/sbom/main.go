// Program sbom prints what a built Go program is made of, as a bill of materials in the form of CycloneDX 1.6. It reads what the
// compiler has written into the program, so the bill lists exactly what was linked, and needs no network. The same program gives
// the same bill.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
)

// bill is the document. Its fields and their order are those of the specification.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func main() {
	name := flag.String("name", "", "the program's name")
	version := flag.String("version", "", "the program's version")
	date := flag.String("date", "", "the time of the bill, as 2026-11-21T06:26:20Z; empty for none")
	flag.Parse()
	if err := run(*name, *version, *date, flag.Arg(0), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes the bill of one program.
func run(name, version, date, path string, to io.Writer) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	made := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{Timestamp: date, Component: component{
		Type: "application", Ref: "program", Name: name, Version: version,
		PURL:   "pkg:generic/" + url.PathEscape(name) + "@" + url.PathEscape(version),
		Hashes: []hash{{"SHA-256", hex.EncodeToString(digest[:])}},
	}}}
	for _, setting := range info.Settings {
		if setting.Key == "GOOS" || setting.Key == "GOARCH" || setting.Key == "CGO_ENABLED" {
			made.Metadata.Component.Properties = append(made.Metadata.Component.Properties, property{"go:" + setting.Key, setting.Value})
		}
	}
	made.Components = append(made.Components, component{
		Type: "library", Ref: "std", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
		PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	})
	uses := []string{"std"}
	for _, module := range info.Deps {
		linked, err := library(module)
		if err != nil {
			return err
		}
		made.Components = append(made.Components, linked)
		uses = append(uses, linked.Ref)
	}
	made.Dependencies = []dependency{{"program", uses}}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(made)
}

// library describes a module. Its hash is that of go.sum: of the list of the module's files with their hashes.
func library(module *debug.Module) (component, error) {
	if module.Replace != nil {
		module = module.Replace
	}
	kind, sum, _ := strings.Cut(module.Sum, ":")
	digest, err := base64.StdEncoding.DecodeString(sum)
	if err != nil || kind != "h1" || len(digest) != sha256.Size {
		return component{}, errors.New(module.Path + " has no hash; a release is made of published modules only")
	}
	purl := "pkg:golang/" + strings.ReplaceAll(url.PathEscape(module.Path), "%2F", "/") + "@" + url.PathEscape(module.Version)
	return component{
		Type: "library", Ref: purl, Name: module.Path, Version: module.Version, PURL: purl,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(digest)}},
	}, nil
}
