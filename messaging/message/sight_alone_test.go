package message

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// theRule is the file in which it is decided who sees a message.
const theRule = "messaging/message/sight.go"

// elsewhere are the files that use a part of the rule by itself, and why.
var elsewhere = map[string]string{
	"messaging/deliveries.go floor":               "whether somebody was let in early enough to have been handed a message; no message is shown",
	"concerns/unanswered.go floor":                "whether anybody is still kept waiting by a request that was let go of; who may know is asked of Sees",
	"messaging/writing/documents.go floor":        "what is removed once it is no document any more",
	"messaging/following/follow_channel.go floor": "narrows beforehand what a channel's followers share; each of them asks Sees",
	"messaging/reading/entry.go time":             "the entry was seen and waits; only its time may have run out since",
	"messaging/attention/delivery.go time":        "the message was seen; the rule time_over is explained by itself",
	"messaging/following/follow_annotated.go may": "what is read for nobody, before it is read for the caller",
}

// A path that puts sight together from its parts forgets an exception. So each part is used in one file, but for the places above.
func TestSightIsDecidedInOnePlace(t *testing.T) {
	const root = "../.."
	used := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, outside := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil || outside != nil:
			return cmp.Or(err, outside)
		case entry.IsDir() && name != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"gen", "sdk", "tools"}, name)):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == theRule:
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if part := partOfSight(node); part != "" {
				used[name+" "+part] = true
				require.Contains(t, elsewhere, name+" "+part, "%s decides sight by hand; ask Viewer.Sees for a purpose (%s)", name, theRule)
			}
			return true
		})
		return nil
	}))
	for place := range elsewhere {
		require.True(t, used[place], "%s is no exception any more", place)
	}
}

// partOfSight returns which part of the rule a piece of code is: the comparison of an ordinal with a floor, the question whether a message has
// its time, or the question whether it may be seen. It is empty for anything else.
func partOfSight(node ast.Node) string {
	switch node := node.(type) {
	case *ast.BinaryExpr:
		compares := slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ}, node.Op)
		if compares && (names(node.X, "ordinal") && names(node.Y, "floor") || names(node.X, "floor") && names(node.Y, "ordinal")) {
			return "floor"
		}
	case *ast.SelectorExpr:
		switch node.Sel.Name {
		case "Timely":
			return "time"
		case "MaySee":
			return "may"
		}
	}
	return ""
}

// names reports whether an expression has a name that ends in a word.
func names(expr ast.Expr, word string) (found bool) {
	ast.Inspect(expr, func(node ast.Node) bool {
		name, is := node.(*ast.Ident)
		found = found || is && strings.HasSuffix(strings.ToLower(name.Name), word)
		return !found
	})
	return found
}
