package workflows

import (
	"slices"
	"strings"
)

// Keys returns the keys that the format has at the top of a file. Most of them are for other tools.
func Keys() []string {
	return []string{
		"openintent", "version", "info", "intent", "channels", "agents", "workflow",
		"governance", "permissions", "coordinator", "plan", "memory", "tools", "triggers", "types", "llm", "mcp", "identity",
		"verification",
	}
}

// ofFormat reports whether the format has a key. By custom, keys that begin with "x-", "." or "_" are the file's own.
func ofFormat(key string) bool {
	return slices.Contains(Keys(), key) || strings.HasPrefix(key, "x-") || strings.HasPrefix(key, ".") || strings.HasPrefix(key, "_")
}
