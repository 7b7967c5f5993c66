import { linkedAbort } from "../clock.js";
import { clientClosed } from "../errors.js";
import { identity, type Settings } from "../settings.js";
import type {
  AcquireLeaseRequest,
  AgentsRequest,
  AskAllRequest,
  AskRequest,
  Attempt,
  CreateChannelRequest,
  CreateIntentRequest,
  OpenIntentRequest,
  Followed,
  FollowAttempt,
  GrantedLease,
  Included,
  IntentsRequest,
  ListMessagesRequest,
  ReplyRequest,
  SendRequest,
  Transport,
} from "../transport.js";
import type { ConcernFilters, ConcernPage } from "../concerns.js";
import type { AgentPage, AgentRecord, Channel, Intent, IntentPage, IntentStatus, Message, Reach } from "../types.js";
import { path, type Call, type Page } from "./call.js";
import { RestConversation } from "./conversation.js";
import { bodyOf } from "./conversation-convert.js";
import { toAgent, toChannel, toConcernPage, toGrantedLease, toIntent, toMessage, toReach } from "./convert.js";
import { fetchError, problemError } from "./failure.js";
import { readStream } from "./stream.js";
import { list } from "./wire.js";

/** The platform's fetch, or one that behaves as it does. */
export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** Reaches the server over REST, with fetch. */
export class RestTransport implements Transport {
  readonly #headers: Record<string, string>;
  readonly #closed = new AbortController();
  readonly conversation = new RestConversation((attempt, call) => this.#page(attempt, call));

  constructor(
    private readonly url: string,
    private readonly settings: Settings,
    private readonly fetch: Fetch,
  ) {
    this.#headers = identity(settings);
  }

  async createChannel(request: CreateChannelRequest, attempt: Attempt): Promise<Channel> {
    const { audit, ttlSeconds, maxMessages, history, turnBudget, conversationBudget } = request.options;
    const body = {
      name: request.name,
      members: request.members,
      member_policy: request.memberPolicy,
      options: {
        audit,
        ttl_seconds: ttlSeconds,
        max_messages: maxMessages,
        history,
        turn_budget: turnBudget,
        conversation_budget: conversationBudget,
      },
      task_id: request.taskId,
      dictatable: request.dictatable,
    };
    return toChannel(await this.#call(attempt, { method: "POST", path: path`intents/${request.intentId}/channels`, body }));
  }

  async listChannels(intentId: string, attempt: Attempt): Promise<Channel[]> {
    const found: Channel[] = [];
    for (let cursor: string | undefined; ; ) {
      const call: Call = { method: "GET", path: path`intents/${intentId}/channels`, query: { cursor } };
      const { body, next } = await this.#page(attempt, call);
      found.push(...list(body, toChannel));
      cursor = next;
      if (!cursor) {
        return found;
      }
    }
  }

  async getChannel(channelId: string, attempt: Attempt): Promise<Channel> {
    return toChannel(await this.#call(attempt, { method: "GET", path: path`channels/${channelId}` }));
  }

  async closeChannel(channelId: string, attempt: Attempt): Promise<Channel> {
    const body = { status: "closed" };
    return toChannel(await this.#call(attempt, { method: "PATCH", path: path`channels/${channelId}`, body }));
  }

  async sendMessage(request: SendRequest, attempt: Attempt): Promise<Message> {
    const body = {
      sender: request.sender,
      to: request.to,
      message_type: request.messageType,
      correlation_id: request.correlationId,
      payload: request.payload,
      metadata: request.metadata,
      expires_at: request.expiresAt?.toISOString(),
      ...bodyOf(request),
    };
    const headers = { "idempotency-key": request.idempotencyKey };
    const place = path`channels/${request.channelId}/messages`;
    return toMessage(await this.#call(attempt, { method: "POST", path: place, body, headers }));
  }

  async replyMessage(request: ReplyRequest, attempt: Attempt): Promise<Message> {
    const body = { sender: request.sender, payload: request.payload, metadata: request.metadata, ...bodyOf(request) };
    const headers = { "idempotency-key": request.idempotencyKey };
    const place = path`channels/${request.channelId}/messages/${request.messageId}/reply`;
    return toMessage(await this.#call(attempt, { method: "POST", path: place, body, headers }));
  }

  async listMessages(request: ListMessagesRequest, attempt: Attempt): Promise<Message[]> {
    const { to, limit, messageType, correlationId, threadId } = request;
    const place = path`channels/${request.channelId}/messages`;
    for (let since = request.since; ; ) {
      const query = { since, to, limit, message_type: messageType, correlation_id: correlationId, thread_id: threadId };
      const { body, nextSince } = await this.#page(attempt, { method: "GET", path: place, query });
      const messages = list(body, toMessage);
      // An empty page that leads on looked at many messages, of which none was wanted.
      if (messages.length > 0 || nextSince === undefined) {
        return messages;
      }
      since = nextSince;
    }
  }

  async getMessage(channelId: string, messageId: string, attempt: Attempt): Promise<Message> {
    return toMessage(await this.#call(attempt, { method: "GET", path: path`channels/${channelId}/messages/${messageId}` }));
  }

  async markRead(channelId: string, messageId: string, attempt: Attempt): Promise<Message> {
    const place = path`channels/${channelId}/messages/${messageId}`;
    return toMessage(await this.#call(attempt, { method: "PATCH", path: place, body: { status: "read" } }));
  }

  async ask(request: AskRequest, attempt: Attempt): Promise<Message> {
    return toMessage(await this.#call(attempt, question("ask", request)));
  }

  async askAll(request: AskAllRequest, attempt: Attempt): Promise<Message[]> {
    return list(await this.#call(attempt, question("ask_all", request, { min_responses: request.minResponses })), toMessage);
  }

  async awaitResponses(
    channelId: string,
    messageId: string,
    waitSeconds: number,
    minResponses: number,
    attempt: Attempt,
    heedsNo?: boolean,
  ): Promise<Message[]> {
    const place = path`channels/${channelId}/messages/${messageId}/responses`;
    const query = { wait_seconds: waitSeconds, min_responses: minResponses, explain: heedsNo ? "true" : undefined };
    return list(await this.#call(attempt, { method: "GET", path: place, query }), toMessage);
  }

  async acquireLease(request: AcquireLeaseRequest, attempt: Attempt): Promise<GrantedLease> {
    const { intentId, scope, durationSeconds, waitSeconds } = request;
    const body = { scope, duration_seconds: durationSeconds, wait_seconds: waitSeconds };
    return toGrantedLease(await this.#call(attempt, { method: "POST", path: path`intents/${intentId}/leases`, body }));
  }

  async renewLease(intentId: string, leaseId: string, durationSeconds: number, attempt: Attempt): Promise<void> {
    const body = { duration_seconds: durationSeconds };
    await this.#call(attempt, { method: "PATCH", path: path`intents/${intentId}/leases/${leaseId}`, body });
  }

  async releaseLease(intentId: string, leaseId: string, attempt: Attempt): Promise<void> {
    await this.#call(attempt, { method: "DELETE", path: path`intents/${intentId}/leases/${leaseId}` });
  }

  async openIntent(request: OpenIntentRequest, attempt: Attempt): Promise<Intent> {
    const { title, description, defaultPolicy } = request;
    const body = { title, description, default_policy: defaultPolicy };
    const opened = await this.#call(attempt, { method: "POST", path: "intents/open", body });
    return toIntent((opened as { intent: object }).intent);
  }

  async createIntent(request: CreateIntentRequest, attempt: Attempt): Promise<Intent> {
    const { title, description, status, constraints, state, parentIntentId, dependsOn, defaultPolicy } = request;
    const body = {
      title,
      description,
      status,
      constraints,
      state,
      parent_intent_id: parentIntentId,
      depends_on: dependsOn,
      default_policy: defaultPolicy,
    };
    return toIntent(await this.#call(attempt, { method: "POST", path: "intents", body }));
  }

  async listIntents(query: IntentsRequest, attempt: Attempt): Promise<IntentPage> {
    const { body, next } = await this.#page(attempt, { method: "GET", path: "intents", query: { ...query } });
    const { intents, total } = body as { intents: unknown; total: number };
    return { intents: list(intents, toIntent), total: Number(total), nextCursor: next ?? null };
  }

  async listAgents({ role, ...rest }: AgentsRequest, attempt: Attempt): Promise<AgentPage> {
    const { body, next } = await this.#page(attempt, { method: "GET", path: "agents", query: { role_id: role, ...rest } });
    const { agents, total } = body as { agents: unknown; total: number };
    return { agents: list(agents, toAgent), total: Number(total), nextCursor: next ?? null };
  }

  async getAgent(agentId: string, attempt: Attempt): Promise<AgentRecord> {
    return toAgent(await this.#call(attempt, { method: "GET", path: path`agents/${agentId}` }));
  }

  async getReach(agentId: string, attempt: Attempt): Promise<Reach> {
    return toReach(await this.#call(attempt, { method: "GET", path: path`agents/${agentId}/reach` }));
  }

  async listConcerns({ kind, intentId, agentId, limit, cursor }: ConcernFilters, attempt: Attempt): Promise<ConcernPage> {
    const query = { kind, intent_id: intentId, agent_id: agentId, limit, cursor };
    return toConcernPage(await this.#call(attempt, { method: "GET", path: "concerns", query }));
  }

  async getIntent(intentId: string, attempt: Attempt): Promise<Intent> {
    return toIntent(await this.#call(attempt, { method: "GET", path: path`intents/${intentId}` }));
  }

  async setIntentStatus(intentId: string, status: IntentStatus, version: number, attempt: Attempt): Promise<Intent> {
    const headers = { "if-match": String(version) };
    return toIntent(
      await this.#call(attempt, { method: "POST", path: path`intents/${intentId}/status`, body: { status }, headers }),
    );
  }

  async *follow(
    channelId: string,
    after: number | undefined,
    include: readonly Included[],
    attempt: FollowAttempt,
  ): AsyncGenerator<Followed, void> {
    const query = { include: include.length === 0 ? undefined : include.join(",") };
    const headers = { accept: "text/event-stream", ...(after !== undefined && { "last-event-id": String(after) }) };
    const call: Call = { method: "GET", path: path`subscribe/channels/${channelId}`, headers, query };
    const open = linkedAbort(attempt.signal, this.#closed.signal);
    try {
      const whole = { ...attempt, signal: open.signal };
      yield* readStream(this.settings, whole, (signal) => this.#request({ ...attempt, signal }, call));
    } finally {
      open.release();
    }
  }

  /** Ends the calls that are under way; the connections are the platform's. */
  close(): void {
    this.#closed.abort(clientClosed());
  }

  async #call(attempt: Attempt, call: Call): Promise<unknown> {
    return (await this.#page(attempt, call)).body;
  }

  /** Makes a call and returns its answer, with the cursor of the next page when it is a page of a list. */
  async #page(attempt: Attempt, call: Call): Promise<Page> {
    const open = linkedAbort(attempt.signal, this.#closed.signal);
    try {
      const response = await this.#request({ ...attempt, signal: open.signal }, call);
      return { body: await response.json(), next: linked(response, "cursor"), nextSince: linked(response, "since") };
    } catch (thrown) {
      throw fetchError(thrown, open.signal, this.settings);
    } finally {
      open.release();
    }
  }

  /** Makes a request and returns its answer if that is a success. */
  async #request(attempt: Attempt, { method, path, body, query, headers }: Call): Promise<Response> {
    const url = new URL(`${this.url}/v1/${path}`, (globalThis as { location?: { href: string } }).location?.href);
    for (const [name, value] of Object.entries(query ?? {})) {
      for (const one of [value].flat()) {
        if (one !== undefined) {
          url.searchParams.append(name, String(one));
        }
      }
    }
    const response = await this.fetch(url.href, {
      method,
      headers: {
        ...this.#headers,
        ...headers,
        ...(attempt.traceparent !== undefined && { traceparent: attempt.traceparent }),
      },
      signal: attempt.signal,
      cache: "no-store",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) {
      const problem: unknown = await response.json().catch(() => null);
      throw problemError(response.status, problem, response.headers.get("retry-after"));
    }
    return response;
  }
}

/** Reads the cursor, under the name that the list gives it, from the Link to the next page. */
function linked(response: Response, name: "cursor" | "since"): string | undefined {
  const link = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "");
  return new URLSearchParams(link?.[1]?.split("?")[1] ?? "").get(name) ?? undefined;
}

function question(verb: string, request: AskRequest, more?: Record<string, unknown>): Call {
  const body = {
    sender: request.sender,
    to: request.to,
    payload: request.payload,
    metadata: request.metadata,
    timeout_seconds: request.timeoutSeconds,
    ...bodyOf(request),
    ...more,
  };
  const headers = { "idempotency-key": request.idempotencyKey };
  return { method: "POST", path: path`channels/${request.channelId}/` + verb, body, headers };
}
