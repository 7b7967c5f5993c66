package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// largest is how much the console's files have together, compressed.
const largest = 200 << 10

func TestTheFilesAreSmall(t *testing.T) {
	pages := newPages(t)
	sum := len(pages.page)
	for name, file := range pages.files {
		compressed, err := file.compressed()
		require.NoError(t, err)
		t.Logf("%s: %d bytes, compressed %d", name, len(file.plain), len(compressed))
		sum += len(compressed)
	}
	require.Less(t, sum, largest)
}

func TestEveryAddressShowsThePage(t *testing.T) {
	pages := newPages(t)
	for path, back := range map[string]string{
		"/console": "console/", "/console/": "./", "/console/intents": "./", "/console/intents/1": "../", "/console/agents/a%2Fb": "../",
		"/console/channels/chan_1/": "../../", "/console/nowhere": "./",
	} {
		got := ask(pages, path)
		require.Equal(t, http.StatusOK, got.Code, path)
		require.Equal(t, "text/html; charset=utf-8", got.Header().Get("Content-Type"))
		require.Equal(t, "no-cache", got.Header().Get("Cache-Control"), "a new version is there with the next visit")
		require.Contains(t, got.Body.String(), `<base href="`+back+`" />`, path)
	}
	for _, path := range []string{"/", "/consoles", "/console.html", "/v1/console", "/console/a/b/c/d/e", "/console/assets/", "/console/assets/old.js"} {
		require.Nil(t, pages.Find(path), path)
	}
}

// addresses are what the page loads.
var addresses = regexp.MustCompile(`(?:src|href)="(\./[^"]+)"`)

func TestWhatThePageNamesIsThere(t *testing.T) {
	pages := newPages(t)
	found := addresses.FindAllStringSubmatch(pages.page, -1)
	require.GreaterOrEqual(t, len(found), 3, "a script, styles and an icon")
	for _, address := range found {
		got := ask(pages, "/console/"+strings.TrimPrefix(address[1], "./"))
		require.Equal(t, http.StatusOK, got.Code, address[1])
		require.NotEmpty(t, got.Header().Get("Content-Type"))
	}
}

func TestNothingInThePageRunsButItsScripts(t *testing.T) {
	pages := newPages(t)
	policy := ask(pages, "/console").Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	for _, weak := range []string{"unsafe", "http:", "https:", "data:", "blob:", "*"} {
		require.NotContains(t, policy, weak)
	}
	require.NotRegexp(t, `<script(?:[^>]*)>[^<]|<style| style=| on[a-z]+=`, pages.page, "the policy would refuse it")
	for name, file := range pages.files {
		require.NotRegexp(t, `https?://(?:[a-z0-9-]+\.)+[a-z]{2,}/[^"]*\.(?:js|css|woff2?)`, string(file.plain), "%s loads from elsewhere", name)
	}
}

func TestFilesComeCompressedAndAreKept(t *testing.T) {
	pages := newPages(t)
	script := addresses.FindAllStringSubmatch(pages.page, -1)
	for _, address := range script {
		path := "/console/" + strings.TrimPrefix(address[1], "./")
		plain, small := ask(pages, path), ask(pages, path, "Accept-Encoding", "br, gzip;q=0.8")
		require.Equal(t, "gzip", small.Header().Get("Content-Encoding"))
		require.Equal(t, "Accept-Encoding", small.Header().Get("Vary"))
		reader, err := gzip.NewReader(small.Body)
		require.NoError(t, err)
		unpacked, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.Equal(t, plain.Body.String(), string(unpacked))
		require.Empty(t, plain.Header().Get("Content-Encoding"))
		require.NotEqual(t, plain.Header().Get("ETag"), small.Header().Get("ETag"))

		kept := "no-cache"
		if strings.Contains(path, "/assets/") {
			kept = "public, max-age=31536000, immutable"
		}
		require.Equal(t, kept, plain.Header().Get("Cache-Control"))
		again := ask(pages, path, "If-None-Match", plain.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code)
	}
}

// The worker may do what its address lets it: whatever is below the console. It comes anew with each version, and answers no requests of pages.
func TestTheWorkerKeepsNoPages(t *testing.T) {
	pages := newPages(t)
	got := ask(pages, "/console/push.js")
	require.Equal(t, http.StatusOK, got.Code)
	require.Equal(t, "text/javascript; charset=utf-8", got.Header().Get("Content-Type"))
	require.Equal(t, "no-cache", got.Header().Get("Cache-Control"))
	require.Equal(t, "default-src 'none'; img-src 'self'", got.Header().Get("Content-Security-Policy"))
	require.Empty(t, got.Header().Get("Service-Worker-Allowed"))
	require.NotRegexp(t, `fetch|caches|importScripts|skipWaiting`, got.Body.String())
	require.Contains(t, ask(pages, "/console").Header().Get("Content-Security-Policy"), "trusted-types svelte-trusted-html openintent-push")
}

func TestWhoTakesGzip(t *testing.T) {
	for accepted, takes := range map[string]bool{
		"gzip": true, "GZIP": true, "br, gzip": true, "gzip;q=1": true, "gzip; q=0.001": true, "gzip;q=0": false, "gzip; q=0.0": false,
		"": false, "br": false, "identity": false, "x-gzip-not": false,
	} {
		require.Equal(t, takes, takesGzip([]string{accepted}), accepted)
	}
	require.True(t, takesGzip([]string{"br", "gzip"}))
	require.False(t, takesGzip(nil))
}

func TestWhatIsNoConsoleIsRefused(t *testing.T) {
	page := &fstest.MapFile{Data: []byte(base)}
	_, err := Read(fstest.MapFS{"index.html": page})
	require.NoError(t, err)
	for sentence, files := range map[string]fstest.MapFS{
		"index.html must have one":   {"index.html": {Data: []byte("<base>")}},
		"must have one <base":        {"assets/a.js": {}},
		"a.woff has no content type": {"index.html": page, "assets/a.woff": {}},
	} {
		_, err := Read(files)
		require.ErrorContains(t, err, sentence)
	}
}

func newPages(t *testing.T) *Pages {
	t.Helper()
	pages, err := New()
	require.NoError(t, err)
	return pages
}

// ask asks for a path, with headers in pairs.
func ask(pages *Pages, path string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	pages.Find(path).ServeHTTP(recorder, request)
	return recorder
}
