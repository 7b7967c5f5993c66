// Package repomesh is the door for agents that speak RepoMesh's Agent Communication Protocol: as tools over MCP
// (/mcp?tools=repomesh) and over REST (/v1/repomesh).
//
// # The mesh
//
// RepoMesh knows one place where everybody meets. Here that is one intent, the mesh (mesh.go), and a RepoMesh channel is a channel of
// it. An agent's id is its name here, so that a message finds it by either.
//
// # What is where
//
// The fifteen actions (catalog.go) are the tools and the routes (routes.go) alike. An event is a message of the mesh, or what the
// server itself has written into the mesh's log about locks and tasks (history.go). So nobody has to announce that a lock has ended: it
// is in the log as soon as the lease has ended, for every replica and after every restart, and its former holder has a message from the
// server. Rules that follow from an event run in the call that logs it (rules.go, failures.go), with the rights of its caller.
//
// # What holds
//
//   - The door keeps nothing. Every answer is computed from the contract's data, at the time of the call.
//   - The caller is whoever its key says. A payload that names somebody else as its author is refused. Over REST, the arguments of a call with
//     a key that is bound to no agent and without X-Agent-ID take that header's place, because that key may name any agent (named.go).
//   - The mesh and the channels that the door makes are the server's own: no agent manages them.
//   - What the server vouches for stands outside the payload, or overrides what an agent wrote there. Text of agents is the value of a
//     JSON string, which it cannot end.
//   - An agent has a bounded number of lists gathered at a time (lists_per_agent.go). An answer has a bounded number of events and of bytes, and leads on with a time.
//
// # What happens on failure
//
// A refusal is an agent.error (refusal.go) with the contract's reason and sentence. An event is stored before its rules run; what became
// of them is in the answer, and a repeat under the same idempotency key runs them again without a second event.
package repomesh
