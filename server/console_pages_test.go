package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const browserAccepts = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestTheRootLeadsPeopleToTheConsoleAndProgramsToTheDocuments(t *testing.T) {
	server := start(t, testConfig(t))
	defer server.stop(t)
	for accepted, way := range map[string]string{browserAccepts: "console", "application/json": "docs", "*/*": "docs"} {
		got := asked(t, server.HTTP, http.MethodGet, "/", server.HTTP, "Accept", accepted)
		require.Equal(t, http.StatusFound, got.status)
		require.Equal(t, way, got.header.Get("Location"), accepted)
		require.Contains(t, got.header.Values("Vary"), "Accept")
	}
}

func TestThePagesNeedNoKeyAndAreOnlyRead(t *testing.T) {
	server := start(t, testConfig(t))
	defer server.stop(t)
	for _, path := range []string{"/console", "/console/channels/chan_1", "/console/icon.svg"} {
		got := asked(t, server.HTTP, http.MethodGet, path, server.HTTP)
		require.Equal(t, http.StatusOK, got.status, path)
		require.Empty(t, asked(t, server.HTTP, http.MethodHead, path, server.HTTP).body)
		refused := problemOf(t, asked(t, server.HTTP, http.MethodPost, path, server.HTTP), http.StatusMethodNotAllowed)
		require.Equal(t, "METHOD_NOT_ALLOWED", refused["reason"])
	}
	missing := problemOf(t, asked(t, server.HTTP, http.MethodGet, "/console/assets/old.js", server.HTTP), http.StatusNotFound)
	require.Equal(t, "ROUTE_NOT_FOUND", missing["reason"])
}

func TestWithoutTheConsoleThereAreNoPages(t *testing.T) {
	cfg := testConfig(t)
	cfg.Console = false
	server := start(t, cfg)
	defer server.stop(t)
	require.Equal(t, "docs", asked(t, server.HTTP, http.MethodGet, "/", server.HTTP, "Accept", browserAccepts).header.Get("Location"))
	for _, path := range []string{"/console", "/console/intents", "/console/icon.svg"} {
		problemOf(t, asked(t, server.HTTP, http.MethodGet, path, server.HTTP), http.StatusNotFound)
	}
}
