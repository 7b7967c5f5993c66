import { installedTracing, OpenIntentClient, type ClientOptions } from "../grpc/client.js";
import { GrpcAgentServer } from "../grpc/agent-server.js";
import { checkAgentId } from "../bounds.js";
import { linkedAbort, sleep, systemClock } from "../clock.js";
import type { Digest } from "../conversation-types.js";
import { badField } from "../errors.js";
import { refuseUnknown, type Names } from "../options.js";
import { noTracing, type Tracing } from "../tracing.js";
import { loadWorkflow } from "../workflow.js";
import { Answering } from "./answering.js";
import { Digests, type DigestHandler } from "./digests.js";
import { AgentLog, type Logger } from "./log.js";
import { Handlers, type Handler } from "./message.js";
import { persist } from "./persisting.js";
import { Presence } from "./presence.js";
import { Receiving } from "./receiving.js";
import { Reporting } from "./reporting.js";
import type { AgentServer, Received } from "./server.js";
import { Starting } from "./starting.js";
import { StatusNote } from "./status-note.js";
import type { Outcome } from "./turns.js";

/** What an agent is and how it works. The server and the key are given as for a client. */
export interface AgentOptions extends Omit<ClientOptions, "agentId" | "logger" | "connectTimeout" | "agentTells"> {
  /** The agent's id; the client of its handlers acts as it. */
  id: string;
  /** The role it takes: messages to `role:...` reach it too. */
  role?: string;
  /** A name for people. */
  name?: string;
  /** Whether to register the agent and to send heartbeats; true unless given. With a role it is always registered. */
  register?: boolean;
  /** How many handlers run at once at most; 16 unless given. */
  concurrency?: number;
  /** How long leaving waits for running handlers, in seconds; 10 unless given. */
  drainSeconds?: number;
  /** Whether each message says in `message.attention` what it asks of the agent, and the server hears what became of it. */
  attention?: boolean;
  /** Leaves out messages to which the agent must not respond; it attends to messages then. */
  skipUnaddressed?: boolean;
  /**
   * Lets messages wait until their sender pauses: for 3 seconds of silence, and at most for 30. What the sender wrote meanwhile is then
   * handled in one go, one message after the other. Requests that are urgent do not wait.
   */
  compose?: boolean;
  /**
   * For how many seconds, 1 to 86,400, messages that are not for the agent are gathered into one digest for `onDigest`; no handler of
   * messages is called for them. No digests unless given.
   */
  digestSeconds?: number;
  /** How many characters a digest has at most, 500 to 20,000; 2,000 unless given. It goes only together with `digestSeconds`. */
  maxChars?: number;
  /** Takes what the agent says about its connection and its handlers; `console` unless given. */
  logger?: Logger;
  /**
   * How many seconds the agent waits for its first connection; without it `run` waits for ever, and says so, and `started` waits for
   * 5 seconds while a server on this machine refuses connections.
   */
  connectTimeout?: number;
  /** For tests: the server. */
  agentServer?: AgentServer;
}

const agentNames: Names<AgentOptions> = {
  id: true,
  role: true,
  name: true,
  server: true,
  apiKey: true,
  tls: true,
  caFile: true,
  connectTimeout: true,
  intentId: false, // it is near to agentId, which somebody may write for id
  register: true,
  concurrency: true,
  drainSeconds: true,
  attention: true,
  skipUnaddressed: true,
  compose: true,
  digestSeconds: true,
  maxChars: true,
  tracing: true,
  logger: true,
  clock: false,
  agentServer: false,
  alwaysExchanges: false,
};

/** The signals of the process that end an agent when `run` was given no signal. */
const endings = ["SIGINT", "SIGTERM"] as const;

/**
 * An agent: a program that answers. Add handlers, then `run` it.
 *
 * Each message that is addressed to the agent, to its role or to everybody is handled at least once; after a crash it may be
 * handled again, with the same `message.id`.
 */
export class Agent {
  /** The client that acts as this agent, for its handlers. */
  readonly client: OpenIntentClient;
  readonly id: string;
  readonly #options: AgentOptions;
  readonly #server: AgentServer;
  readonly #tracing: Tracing;
  readonly #handlers = new Handlers();
  readonly #digests = new Digests();
  readonly #note = new StatusNote();
  /** Why those who wait for the start wait in vain. */
  #inVain: (error: Error) => void = () => {};
  #running: { leave: () => void; ended: Promise<void> } | null = null;
  #receives: () => void = () => {};
  #receiving = this.#start();

  constructor(options: AgentOptions) {
    refuseUnknown("Agent", options, agentNames);
    if (!options.id) {
      throw badField("id", "must name the agent");
    }
    checkAgentId("id", options.id);
    const { concurrency = 16, drainSeconds = 10 } = options;
    if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
      throw badField("concurrency", "must be a whole number of 1 or more");
    }
    if (!(drainSeconds >= 0)) {
      throw badField("drain_seconds", "must be a number of 0 or more");
    }
    const { digestSeconds = 1, maxChars = 1 } = options;
    for (const [field, number] of Object.entries({ digest_seconds: digestSeconds, max_chars: maxChars })) {
      if (!(Number.isInteger(number) && number >= 1)) {
        throw badField(field, "must be a whole number of 1 or more");
      }
    }
    this.id = options.id;
    this.#options = options;
    this.#tracing = options.tracing ?? installedTracing() ?? noTracing;
    if (options.connectTimeout !== undefined && !(options.connectTimeout > 0)) {
      throw badField("connectTimeout", "must be a number of seconds above 0");
    }
    const { id: agentId, server, tls, caFile, apiKey, intentId, clock, logger, alwaysExchanges } = options;
    const connection = { server, tls, caFile, apiKey, agentId, intentId, clock, tracing: this.#tracing, alwaysExchanges };
    this.client = new OpenIntentClient({ ...connection, logger, agentTells: true });
    this.#server = options.agentServer ?? new GrpcAgentServer(this.client.connection, options, () => this.#attends);
  }

  /**
   * Makes the agent that a workflow file describes. `handlers` has the handlers under their names in the file: an object
   * with methods, or a Map.
   *
   * @throws InvalidArgumentError when the file has no such agent, or names a handler that is missing
   */
  static async fromWorkflow(
    path: string,
    agentId: string,
    handlers: Record<string, Handler> | Map<string, Handler> | object,
    options: Omit<AgentOptions, "id"> = {},
  ): Promise<Agent> {
    const described = (await loadWorkflow(path)).agents[agentId];
    if (described === undefined) {
      throw badField("agent_id", `must be one of the workflow's agents, and ${JSON.stringify(agentId)} is not`);
    }
    const agent = new Agent({ ...options, id: agentId });
    for (const { channel, handler } of described.onMessage) {
      const bound = handlerNamed(handlers, handler);
      if (bound === undefined) {
        throw badField("handlers", `must have ${JSON.stringify(handler)}, which the workflow names for ${agentId}`);
      }
      agent.#handlers.add(channel ?? undefined, bound);
    }
    return agent;
  }

  /** Adds a handler for the channels of this name. */
  onMessage<T = any>(channel: string, handler: Handler<T>): this;
  /** Adds a handler for the messages that no handler for a channel takes. */
  onMessage<T = any>(handler: Handler<T>): this;
  onMessage(channelOrHandler: string | Handler, handler?: Handler): this {
    if (typeof channelOrHandler === "string") {
      this.#handlers.add(channelOrHandler, handler!);
    } else {
      this.#handlers.add(undefined, channelOrHandler);
    }
    return this;
  }

  /**
   * Adds a handler for messages that mention the agent, on the channels of this name. It is called in place of those of `onMessage`.
   * An agent that has one attends to messages.
   */
  onMention<T = any>(channel: string, handler: Handler<T>): this;
  /** Adds a handler for messages that mention the agent, where no handler of mentions for a channel takes them. */
  onMention<T = any>(handler: Handler<T>): this;
  onMention(channelOrHandler: string | Handler, handler?: Handler): this {
    if (typeof channelOrHandler === "string") {
      this.#handlers.add(channelOrHandler, handler!, "mention");
    } else {
      this.#handlers.add(undefined, channelOrHandler, "mention");
    }
    return this;
  }

  /**
   * Adds a handler for the requests whose obligation is open and for the server's reminders of them, on the channels of this name. It is
   * called in place of the others. The reminders come on the channel `_system`; their `attention.knock` says where the request is. An
   * agent that has one attends to messages.
   */
  onObligation<T = any>(channel: string, handler: Handler<T>): this;
  /** Adds a handler for what is owed, where no such handler for a channel takes it. */
  onObligation<T = any>(handler: Handler<T>): this;
  onObligation(channelOrHandler: string | Handler, handler?: Handler): this {
    if (typeof channelOrHandler === "string") {
      this.#handlers.add(channelOrHandler, handler!, "obligation");
    } else {
      this.#handlers.add(undefined, channelOrHandler, "obligation");
    }
    return this;
  }

  /** Adds a handler for the digests that `digestSeconds` asks for. Without one the agent leaves them out. */
  onDigest(handler: DigestHandler): this {
    this.#digests.add(handler);
    return this;
  }

  /**
   * Runs the agent until the signal aborts or `leave` is called; without a signal, until SIGINT or SIGTERM. It then takes
   * nothing new, waits up to `drainSeconds` for running handlers and sends their answers. It waits for its server for ever, unless
   * `connectTimeout` bounds that, and never gives up reconnecting.
   *
   * @throws UnauthenticatedError, PermissionDeniedError or InvalidArgumentError when the server refuses the agent, and UnavailableError
   * after `connectTimeout` or when TLS fails at the start
   */
  async run(options: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#running !== null) {
      throw new Error("The agent is running already.");
    }
    const leaving = linkedAbort(options.signal);
    const leave = (): void => leaving.abort(new Error("The agent leaves."));
    if (options.signal === undefined) {
      endings.forEach((name) => process.once(name, leave));
    }
    const ended = this.#run(leaving.signal);
    this.#running = { leave, ended };
    try {
      await ended;
    } finally {
      this.#running = null;
      this.#receiving = this.#start();
      leaving.release();
      endings.forEach((name) => process.off(name, leave));
    }
  }

  /**
   * Returns once the running agent is registered and receives: it is there for whoever looks for its role. When the run
   * fails before that, it throws the failure.
   *
   * @throws UnavailableError when a server on this machine has refused connections for 5 seconds, or for `connectTimeout`
   */
  async started(): Promise<void> {
    await (this.#running === null ? this.#receiving : Promise.race([this.#receiving, this.#running.ended]));
  }

  /**
   * Says what the agent is doing, for people and other agents, in at most 200 characters; an empty note takes it away. It does not
   * wait for the server: the agent's next heartbeat brings the note, at most a second later. Of several notes only the last one
   * counts. The agent's record keeps the note when the agent leaves.
   *
   * @throws InvalidArgumentError when the note is too long, or when the agent does not register
   */
  setStatusNote(note: string): void {
    if (!this.#registers) {
      throw badField("status_note", "needs an agent that registers");
    }
    this.#note.set(note);
  }

  /**
   * Ends a run as its signal does, and returns when it has ended. `deregister` then takes the agent out of service: it leaves
   * its channels, and what waits for it expires.
   */
  async leave(options: { deregister?: boolean; signal?: AbortSignal } = {}): Promise<void> {
    this.#running?.leave();
    await this.#running?.ended;
    if (options.deregister) {
      const signal = options.signal ?? new AbortController().signal;
      await persist(this.#clock, signal, (attempt) => this.#server.deregister(attempt), () => {});
    }
  }

  /** Whether messages come with what they ask of the agent. */
  get #attends(): boolean {
    const { attention = false, skipUnaddressed = false } = this.#options;
    return attention || skipUnaddressed || this.#handlers.attends;
  }

  /** Whether the agent has a record: a role needs one. */
  get #registers(): boolean {
    return (this.#options.register ?? true) || this.#options.role !== undefined;
  }

  get #clock(): NonNullable<AgentOptions["clock"]> {
    return this.#options.clock ?? systemClock;
  }

  /** A promise of the next start. */
  #start(): Promise<void> {
    const start = new Promise<void>((resolve, reject) => {
      this.#receives = resolve;
      this.#inVain = reject;
    });
    start.catch(() => {}); // Perhaps nobody waits for it.
    return start;
  }

  async #run(leaving: AbortSignal): Promise<void> {
    const { concurrency = 16, drainSeconds = 10, logger = console } = this.#options;
    const end = new AbortController();
    const stopping = linkedAbort(leaving);
    const log = new AgentLog(this.id, this.client.connection.server, logger, this.#clock);
    const starting = new Starting(this.#clock, {
      server: this.client.connection.server,
      local: this.client.connection.local,
      connectTimeout: this.#options.connectTimeout,
      inVain: (error) => this.#inVain(error),
    });
    const unreachable = (error: unknown): void => {
      starting.failed(error);
      log.unreachable(error);
    };
    const presence = this.#registers ? new Presence(this.#server, this.#clock, log, this.#note, unreachable) : null;
    const reports = this.#attends ? new Reporting(this.client, this.#server, this.#clock, end.signal) : null;
    const { skipUnaddressed = false } = this.#options;
    const answering = new Answering(this.client, this.#handlers, this.#tracing, end.signal, log, reports, skipUnaddressed);
    const handle = (received: Received, last: boolean): Promise<Outcome> => answering.handle(received, last);
    const receivingOptions = {
      agentId: this.id,
      concurrency,
      attends: this.#attends,
      waiting: this.#options,
      handle,
      digested: (digest: Digest) => this.#digests.handle(digest, end.signal, log),
      log,
      unreachable,
      accepted: () => {
        starting.over();
        this.client.connection.reached();
        this.#receives();
      },
      tookOver: () => presence?.tookOver(),
    };
    const receiving = new Receiving(this.#server, this.#clock, receivingOptions, end.signal);
    try {
      await presence?.register(stopping.signal);
      const parts = [receiving.run(stopping.signal), ...(presence ? [presence.keep(stopping.signal)] : [])];
      try {
        await Promise.all(parts);
      } finally {
        stopping.abort();
        await Promise.allSettled(parts);
      }
    } catch (error) {
      if (!leaving.aborted) {
        log.givesUp(error);
        throw error;
      }
    } finally {
      if (leaving.aborted) {
        log.leaving(receiving.running);
      }
      const patience = sleep(this.#clock, drainSeconds * 1000, end.signal).catch(() => {});
      const finished = Promise.all([presence?.drain(), receiving.finished().then(() => reports?.finished())]);
      await Promise.race([finished, patience]);
      if (receiving.running > 0) {
        log.leftBefore(receiving.running);
      }
      end.abort(new Error("The agent has ended."));
      stopping.release();
      this.client.connection.rest();
      if (leaving.aborted) {
        log.left();
      }
    }
  }
}

/** The handler of this name, bound to the object that has it. */
function handlerNamed(handlers: object, name: string): Handler | undefined {
  const found: unknown = handlers instanceof Map ? handlers.get(name) : (handlers as Record<string, unknown>)[name];
  return typeof found === "function" ? (found.bind(handlers) as Handler) : undefined;
}
