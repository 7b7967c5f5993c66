import { badField } from "./errors.js";

// Names and sizes are checked before anything is sent, by the bounds that the contract gives and the server checks. What a server's
// settings bound, such as the length of a channel's name and the size of a payload, the server alone knows.

/** The fewest and the most characters of the texts of each request. A test of the Go SDK compares them with the contract, and writes them. */
export const bounds = {
  AcquireLeaseRequest: { scope: [1, 256], agentId: [0, 256] },
  AddReactionRequest: { note: [0, 200], eta: [0, 200], agentId: [0, 256] },
  AskAllRequest: { sender: [0, 256], to: [1, 261], idempotencyKey: [1, 255], parentId: [1, 128], subject: [1, 200], kind: [1, 64], taskId: [1, 128] },
  AskRequest: { sender: [0, 256], to: [1, 261], idempotencyKey: [1, 255], parentId: [1, 128], subject: [1, 200], kind: [1, 64], taskId: [1, 128] },
  ClaimMessageRequest: { idempotencyKey: [1, 255] },
  CreateChannelRequest: { taskId: [0, 128], createdBy: [0, 256] },
  CreateIntentRequest: { title: [1, 1024], description: [0, 65536], createdBy: [0, 256], parentIntentId: [0, 128], parentId: [0, 128] },
  DischargeObligationRequest: { note: [0, 200] },
  ListAgentsRequest: { roleId: [0, 256], cursor: [0, 4096] },
  ListIntentsRequest: { cursor: [0, 4096] },
  ListMessagesRequest: { since: [0, 128], to: [0, 256], correlationId: [0, 128], threadId: [0, 128], kind: [0, 64] },
  RegisterAgentRequest: { agentId: [1, 256], roleId: [0, 256], name: [0, 256], endpoint: [0, 2048], takesPartIn: [1, 256] },
  ReplyMessageRequest: { sender: [0, 256], idempotencyKey: [1, 255], subject: [1, 200], kind: [1, 64], taskId: [1, 128], parentId: [1, 128] },
  SearchMessagesRequest: { q: [1, 256], intentId: [0, 256], channelId: [0, 256], threadId: [0, 256], sender: [0, 256], to: [0, 256], kind: [0, 64], cursor: [0, 4096] },
  SendMessageRequest: { sender: [0, 256], to: [0, 261], correlationId: [0, 128], idempotencyKey: [1, 255], parentId: [1, 128], subject: [1, 200], kind: [1, 64], taskId: [1, 128], replaces: [0, 128] },
  SetDispositionRequest: { reason: [1, 200] },
  SetIntentStatusRequest: { reason: [0, 4096] },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly [number, number]>>>>;

/** Refuses a request with a text that is too short or too long. */
export function checkBounds(request: keyof typeof bounds, texts: object): void {
  for (const [name, [least, most]] of Object.entries<readonly [number, number]>(bounds[request])) {
    const text = (texts as Record<string, unknown>)[name];
    // A character has one or two units, so most texts need not be counted.
    if (typeof text !== "string" || (text.length >= 2 * least && text.length <= most)) {
      continue;
    }
    const length = [...text].length;
    if (length < least || length > most) {
      throw badField(name, `has ${length} characters; use ${least} to ${most}`);
    }
  }
}

const longestAgentId = 256;

/** Refuses what no agent can be called. The id travels with each call as a header, which holds printable ASCII alone. */
export function checkAgentId(setting: string, id: string): void {
  if (id.length > longestAgentId) {
    throw badField(setting, `has ${id.length} characters; use 1 to ${longestAgentId}`);
  }
  if (id.includes("/")) {
    throw badField(setting, "may not contain a slash");
  }
  if (!/^[ -~]*$/.test(id)) {
    throw badField(setting, "must consist of printable ASCII characters");
  }
  if (["operator", "system", "*"].includes(id) || id.startsWith("role:")) {
    throw badField(setting, `cannot be ${JSON.stringify(id)}, which is reserved; to act as the operator, name no agent`);
  }
}

/** Refuses what cannot be a channel's name, but for its length, which the server bounds. */
export function checkChannelName(name: string): void {
  if (name.trim() === "") {
    throw badField("name", "must hold at least one character that is not white space");
  }
  if (name.includes("/")) {
    throw badField("name", "may not contain a slash");
  }
  if (/\p{Cc}/u.test(name)) {
    throw badField("name", "may not contain control characters");
  }
  if (name === "_system") {
    throw badField("name", "is the name of the server's own channel; choose another name");
  }
}
