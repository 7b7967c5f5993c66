package documents

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server"
)

// kinds is the contract's error table: each kind of fault over REST and over gRPC.
var kinds = map[string]string{
	"Invalid":              "400 INVALID_ARGUMENT",
	"Unauthenticated":      "401 UNAUTHENTICATED",
	"Denied":               "403 PERMISSION_DENIED",
	"NotFound":             "404 NOT_FOUND",
	"MethodNotAllowed":     "405 UNIMPLEMENTED",
	"TimedOut":             "408 DEADLINE_EXCEEDED",
	"AlreadyExists":        "409 ALREADY_EXISTS",
	"Conflict":             "409 FAILED_PRECONDITION",
	"VersionMismatch":      "409 ABORTED",
	"Gone":                 "410 FAILED_PRECONDITION",
	"PreconditionFailed":   "412 FAILED_PRECONDITION",
	"PreconditionRequired": "428 FAILED_PRECONDITION",
	"TooLarge":             "413 RESOURCE_EXHAUSTED",
	"Quota":                "429 RESOURCE_EXHAUSTED",
	"Unavailable":          "503 UNAVAILABLE",
	"Internal":             "500 INTERNAL",
}

func TestTheTableOfReasonsIsTheCodes(t *testing.T) {
	var documented []string
	for _, row := range table(t, readDocument(t, "docs/rest.md"), "### Reasons") {
		documented = append(documented, row[0]+" "+row[1]+" "+row[2])
		require.NotEmpty(t, row[3], row[0])
	}
	require.ElementsMatch(t, reasons(t), documented)
}

// reasons finds every reason in the code, as "REASON STATUS CODE".
func reasons(t *testing.T) (found []string) {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "e2e" || entry.Name() == "gen" {
				return fs.SkipDir
			}
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			found = append(found, reasonsIn(file)...)
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(found)
	return slices.Compact(found)
}

// reasonsIn finds the calls of fault.New, and the one fault that is made as a literal.
func reasonsIn(file *ast.File) (found []string) {
	add := func(kind, reason ast.Expr) {
		literal, ok := reason.(*ast.BasicLit)
		if !ok {
			return
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return
		}
		name := ""
		switch k := kind.(type) {
		case *ast.Ident:
			name = k.Name
		case *ast.SelectorExpr:
			name = k.Sel.Name
		}
		found = append(found, text+" "+kinds[name])
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			if calls(n.Fun, file.Name.Name, "New") && len(n.Args) >= 3 {
				add(n.Args[0], n.Args[1])
			}
		case *ast.CompositeLit:
			if name, ok := n.Type.(*ast.Ident); ok && name.Name == "Fault" {
				values := make(map[string]ast.Expr)
				for _, element := range n.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok {
						values[fmt.Sprint(pair.Key)] = pair.Value
					}
				}
				add(values["Kind"], values["Reason"])
			}
		}
		return true
	})
	return found
}

// calls reports whether an expression names a function of package fault.
func calls(function ast.Expr, inPackage, name string) bool {
	switch f := function.(type) {
	case *ast.SelectorExpr:
		in, ok := f.X.(*ast.Ident)
		return ok && in.Name == "fault" && f.Sel.Name == name
	case *ast.Ident:
		return inPackage == "fault" && f.Name == name
	}
	return false
}

func TestTheTableOfRoutesIsTheContracts(t *testing.T) {
	var documented, bound []string
	for _, row := range table(t, readDocument(t, "docs/rest.md"), "## Routes") {
		documented = append(documented, row[0]+" "+row[1])
		require.NotEmpty(t, row[2], row[0])
	}
	protoregistry.GlobalFiles.RangeFilesByPackage(openintentv1.File_openintent_v1_common_proto.Package(),
		func(file protoreflect.FileDescriptor) bool {
			for i := range file.Services().Len() {
				service := file.Services().Get(i)
				for j := range service.Methods().Len() {
					method := service.Methods().Get(j)
					rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
					if rule == nil {
						continue
					}
					for _, binding := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
						bound = append(bound, routeOf(binding)+" "+string(service.Name())+"."+string(method.Name()))
					}
				}
			}
			return true
		})
	require.ElementsMatch(t, bound, documented)
}

func routeOf(binding *annotations.HttpRule) string {
	paths := map[string]string{
		"GET": binding.GetGet(), "POST": binding.GetPost(), "PUT": binding.GetPut(), "PATCH": binding.GetPatch(),
		"DELETE": binding.GetDelete(),
	}
	for verb, path := range paths {
		if path != "" {
			return verb + " " + strings.ReplaceAll(path, "{channel.id}", "{channel_id}")
		}
	}
	return ""
}

func TestTheTableOfSettingsIsTheConfiguration(t *testing.T) {
	var documented, configured []string
	for _, row := range table(t, readDocument(t, "docs/settings.md"), "## Settings") {
		documented = append(documented, row[0]+" = "+row[1])
		require.NotEmpty(t, row[2], row[0])
	}
	config := reflect.TypeFor[server.Config]()
	for i := range config.NumField() {
		tag := config.Field(i).Tag
		if tag.Get("env") == "" {
			continue
		}
		configured = append(configured, tag.Get("env")+" = "+tag.Get("default"))
		require.Equal(t, tag.Get("env"), "OPENINTENT_"+strings.ToUpper(strings.ReplaceAll(tag.Get("name"), "-", "_")),
			"the document says that flags are named like their variables")
	}
	require.Equal(t, configured, documented)
}

func TestTheKeyFileIsOne(t *testing.T) {
	for _, b := range blocks(readDocument(t, "docs/operating.md")) {
		if b.language != "yaml" {
			continue
		}
		path := filepath.Join(t.TempDir(), "keys.yaml")
		require.NoError(t, os.WriteFile(path, []byte(b.text), 0o600))
		keys, err := server.LoadKeys("", path)
		require.NoError(t, err)
		require.Equal(t, 5, keys.Count())
		return
	}
	t.Fatal("the document shows no key file")
}

// fenced matches code blocks, in which text that looks like a link is not one.
var fenced = regexp.MustCompile("(?s)\n```.*?\n```")

// Every link to a file of this repository leads somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	linking := append(pages(t), "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md", "sdk/README.md", "sdk/go/README.md",
		"sdk/python/README.md", "sdk/typescript/README.md")
	for _, name := range linking {
		for _, link := range strings.Split(fenced.ReplaceAllString(readDocument(t, name), ""), "](")[1:] {
			target, _, _ := strings.Cut(link, ")")
			if strings.Contains(target, "://") || strings.Contains(target, "\n") {
				continue
			}
			path, anchor, _ := strings.Cut(target, "#")
			linked := name
			if path != "" {
				linked = filepath.Join(filepath.Dir(name), path)
			}
			_, err := os.Stat(filepath.Join(root, linked))
			require.NoError(t, err, "%s links to %s", name, target)
			if anchor != "" {
				require.Contains(t, anchors(readDocument(t, linked)), anchor, "%s links to %s", name, target)
			}
		}
	}
}

// anchors returns the names under which a page's headings can be linked.
func anchors(page string) (names []string) {
	for _, line := range strings.Split(page, "\n") {
		heading := strings.TrimLeft(line, "#")
		if heading == line {
			continue
		}
		name := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case c == '-' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
				return c
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(heading)))
		names = append(names, name)
	}
	return names
}

// The page about clusters shows the configuration with which make failover runs Patroni, as it stands.
func TestThePageShowsTheClustersConfiguration(t *testing.T) {
	for _, b := range blocks(readDocument(t, "docs/cluster.md")) {
		if b.language == "yaml" {
			require.Equal(t, readDocument(t, "docs/cluster/patroni.yaml"), b.text)
			require.Contains(t, readDocument(t, "scripts/with-patroni.sh"), "cp docs/cluster/patroni.yaml")
			return
		}
	}
	t.Fatal("the page shows no configuration")
}
