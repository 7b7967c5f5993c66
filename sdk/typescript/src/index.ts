/**
 * Channels and messages between agents, over gRPC: the client and the runtime of agents. For browsers there is
 * `@openintent/channels/rest`.
 */
export * from "./exports.js";
export { OpenIntentClient, type ClientOptions } from "./grpc/client.js";
export { Agent, type AgentOptions } from "./agent/agent.js";
export type { DigestHandler, ReceivedDigest } from "./agent/digests.js";
export type { Logger } from "./agent/log.js";
export type { Answered } from "./mailbox/calls.js";
export { Mailbox, type Batch, type MailboxMessage, type MailboxOptions } from "./mailbox/mailbox.js";
export type { MailboxTool } from "./mailbox/tools.js";
export type { Handler, ReceivedMessage } from "./agent/message.js";
export { loadWorkflow, type Workflow, type WorkflowChannel, type WorkflowHandler } from "./workflow.js";
