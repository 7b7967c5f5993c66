// Package agentchannel tests the door for the Agent Channel Protocol as its users meet it: over HTTP, with curl, and through the tools of its
// MCP profile.
package agentchannel
