package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed dist
var dist embed.FS

const (
	// root is the path of the console.
	root = "/console"
	// hashed is where the files lie whose names change with their contents.
	hashed = "assets/"
	// base is the page's element that its addresses are relative to, as index.html has it.
	base = `<base href="/console/" />`
	// deepest is how many segments an address of a page has at most, below the console's own.
	deepest = 4
)

// policy lets the page load, run and call nothing that is not this server's, and lets no other page frame it. Svelte makes elements of
// templates that are part of its program, for which it needs a policy of trusted types; so does the start of the worker that shows pushes.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html openintent-push"

// ofFiles lets a file that a browser runs by itself, as it does the worker that shows pushes, load nothing but pictures of this server's.
const ofFiles = "default-src 'none'; img-src 'self'"

// contentTypes are those of the files, by their extension. What the machine says of extensions does not count.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Pages are the files of the console, ready to be served. They never change.
type Pages struct {
	// page is the one page, which shows every address.
	page  string
	files map[string]*file
}

// New reads the files that are part of the program.
func New() (*Pages, error) {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("finding the console's pages: %w", err)
	}
	return Read(built)
}

// Read reads built files. It fails if they are not what the console is made of.
func Read(built fs.FS) (*Pages, error) {
	p := &Pages{files: make(map[string]*file)}
	err := fs.WalkDir(built, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(built, name)
		if err != nil {
			return err
		}
		if name == "index.html" {
			p.page = string(content)
			return nil
		}
		contentType, known := contentTypes[path.Ext(name)]
		if !known {
			return fmt.Errorf("%s has no content type", name)
		}
		kept := "no-cache"
		if strings.HasPrefix(name, hashed) {
			kept = "public, max-age=31536000, immutable"
		}
		p.files[name] = newFile(content, contentType, kept)
		return nil
	})
	if err == nil && strings.Count(p.page, base) != 1 {
		err = fmt.Errorf("index.html must have one %s", base)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the console's pages: %w", err)
	}
	return p, nil
}

// Find returns what is at a path, still escaped as the client wrote it: a file, or the page for every address that may be one of its own. It
// returns nil if there is nothing.
func (p *Pages) Find(path string) http.Handler {
	rest, ok := strings.CutPrefix(path, root)
	if !ok || rest != "" && rest[0] != '/' || strings.Count(rest, "/") > deepest {
		return nil
	}
	name := strings.TrimPrefix(rest, "/")
	if found, ok := p.files[name]; ok {
		return found
	}
	if strings.HasPrefix(name, hashed) {
		return nil
	}
	return page(strings.Replace(p.page, base, `<base href="`+upTo(rest)+`" />`, 1))
}

// upTo is the way from an address below the console's back to it. It is relative, so that the pages also work behind a proxy that serves them
// under a path.
func upTo(rest string) string {
	switch depth := strings.Count(rest, "/"); depth {
	case 0:
		return "console/"
	case 1:
		return "./"
	default:
		return strings.Repeat("../", depth-1)
	}
}

// page is the page as one address gets it.
type page string

// ServeHTTP answers with the page.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("ETag", tagOf([]byte(p)))
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(p)))
}

// file is a file, plain and compressed.
type file struct {
	contentType, kept, tag string
	plain                  []byte
	// compressed compresses the file when a client first takes that. Most runs of the program show nobody a page.
	compressed func() ([]byte, error)
}

func newFile(content []byte, contentType, kept string) *file {
	return &file{
		contentType: contentType, kept: kept, tag: tagOf(content), plain: content,
		compressed: sync.OnceValues(func() ([]byte, error) { return inGzip(content) }),
	}
}

func inGzip(content []byte) ([]byte, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return compressed.Bytes(), nil
}

// ServeHTTP answers with the file, compressed if the client takes that.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("Cache-Control", f.kept)
	header.Set("Content-Security-Policy", ofFiles)
	header.Set("Vary", "Accept-Encoding")
	header.Set("X-Content-Type-Options", "nosniff")
	content, tag := f.plain, f.tag
	if takesGzip(r.Header.Values("Accept-Encoding")) {
		if compressed, err := f.compressed(); err == nil {
			header.Set("Content-Encoding", "gzip")
			content, tag = compressed, `"gzip-`+f.tag[1:]
		}
	}
	header.Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// tagOf is the entity tag of a content.
func tagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// takesGzip reports whether a client that sent these headers takes gzip.
func takesGzip(accepted []string) bool {
	for _, list := range accepted {
		for one := range strings.SplitSeq(list, ",") {
			coding, quality, _ := strings.Cut(one, ";")
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				weight := strings.TrimLeft(strings.ReplaceAll(quality, " ", ""), "qQ=")
				return strings.Trim(weight, "0.") != "" || weight == ""
			}
		}
	}
	return false
}
