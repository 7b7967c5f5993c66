// Package workflows applies workflow files to running servers, on both engines: both forms of the header, again and again,
// dry, by several agents, beside others at work, and with calls that fail half-way. What the server then has is compared
// with what the file says, whole.
package workflows
