import type { AgentOptions } from "../agent/agent.js";
import { OpenIntentClient, type ClientOptions } from "../grpc/client.js";
import type { Intent } from "../types.js";
import { MovedClock, pauseSince } from "./moved-clock.js";
import { Peer } from "./peers.js";
import { Program, ServerError } from "./program.js";
import { described, listed, matches, messagesOf, saidBy, type Said, type Wanted } from "./record.js";

const key = "dev-key-001";

/** How long assertions wait for what must happen, and for how long nothing may happen until agents count as settled, in milliseconds. */
const within = 5_000;
const quiet = 150;

/** The most steps of one `advance`. */
const mostSteps = 360;

/** How a server in a test is started. */
export interface ServerOptions {
  /** Whether the server's time stands until `advance` moves it; true unless given. */
  testClock?: boolean;
  /** Where it keeps its data; `sqlite::memory:` unless given. */
  databaseUrl?: string;
  /** Further flags of `openintent serve`. */
  arguments?: readonly string[];
}

/** What a test runner gives to a test: that of node:test, or that of vitest. */
export interface TestContext {
  after?(then: () => Promise<void>): void;
  onTestFinished?(then: () => Promise<void>): void;
  onTestFailed?(then: () => void): void;
  /** Whether the test has passed, where the runner says it. */
  readonly passed?: boolean;
}

/** A server that runs for a test. Its time stands, until `advance` moves it. */
export class Server {
  /** The address of REST. */
  readonly http: string;
  /** The address of gRPC, as host:port. */
  readonly grpc: string;
  readonly #program: Program;
  readonly #clock: MovedClock | undefined;
  readonly #ends: (() => Promise<void> | void)[] = [];

  private constructor(program: Program, clock: MovedClock | undefined) {
    this.#program = program;
    this.#clock = clock;
    this.http = `http://${program.http}`;
    this.grpc = program.grpc;
  }

  /** Starts a server; call `close` at the end. @throws ServerError if it is not found, or does not start */
  static async start({ testClock = true, databaseUrl = "sqlite::memory:", arguments: further = [] }: ServerOptions = {}): Promise<Server> {
    const flags = [`--database-url=${databaseUrl}`, ...(testClock ? ["--test-clock"] : []), ...further];
    return new Server(await Program.start(flags), testClock ? new MovedClock() : undefined);
  }

  /** What clients and agents of this server are made with: `new Agent({ id, ...server.options })`. */
  get options(): Pick<ClientOptions & AgentOptions, "server" | "apiKey" | "tls" | "clock"> {
    return { server: this.grpc, apiKey: key, tls: false, clock: this.#clock };
  }

  /** What the server has said. */
  get log(): string {
    return this.#program.log;
  }

  /** A client that acts as an agent, or without one as the operator. The server closes it at the end. */
  client(agentId?: string): OpenIntentClient {
    const client = new OpenIntentClient({ ...this.options, agentId });
    this.#ends.push(() => client.close());
    return client;
  }

  /** An agent that does what its script says. It joins with the first line of the script. */
  peer(id: string, role?: string): Peer {
    const peer = new Peer({ ...this.options, id, role }, this.#clock);
    this.#ends.push(() => peer.close());
    return peer;
  }

  /**
   * Lets so many seconds pass: for the server, and for the clients and agents that were made with `options`, which renew what they hold and
   * send their heartbeats on the way. Resolves when what fell due is done.
   */
  async advance(seconds: number): Promise<void> {
    const clock = this.#clock;
    if (clock === undefined) {
      throw new ServerError("this server's time flows by itself; start it with testClock to move it");
    }
    for (let left = seconds; ; ) {
      const step = Math.min(left, Math.max(clock.untilNext() / 1000, seconds / mostSteps, 0.001));
      await this.#moveServer(step);
      await clock.move(step * 1000);
      if ((left -= step) <= 0) {
        return;
      }
    }
  }

  /** The time by the server's clock. */
  async now(): Promise<Date> {
    return this.#moveServer(0);
  }

  /**
   * Resolves when the agents that live have handled everything that has reached them: nothing waits for an acknowledgement, and that stays so for 0.15
   * seconds. @throws Error after 5 seconds
   */
  async settle(): Promise<void> {
    const begun = Date.now();
    for (let before = "", since = begun; ; await pauseSince(begun)) {
      if (this.#clock !== undefined) {
        await this.now(); // Everyone who waits looks before this returns.
      }
      const all: any[] = await this.list("/v1/subscriptions");
      const state = JSON.stringify(all.map((one) => [one.id, one.last_number, one.acknowledged_through]));
      const waits: string[] = [];
      for (const one of all.filter(({ outstanding_count: outstanding }) => outstanding > 0)) {
        if (await this.#lives(one.subscriber_id)) {
          waits.push(one.subscriber_id);
        }
      }
      if (waits.length > 0 || state !== before) {
        [before, since] = [state, Date.now()];
      } else if (Date.now() - since >= quiet) {
        return;
      }
      if (Date.now() - begun > within) {
        throw new Error(`after ${within / 1000} s something still waits for ${waits.join(", ") || "the agents"}`);
      }
    }
  }

  /** What was said in an intent, oldest first: all, or the messages that are as wanted. */
  async said(intent: Intent | string, wanted: Wanted<Said> = {}): Promise<Said[]> {
    return (await this.#read(intent)).filter((message) => matches(message, wanted));
  }

  /** Waits, at most for 5 seconds, until something was said as wanted. @throws Error with what was said instead */
  async assertSaid(intent: Intent | string, wanted: Wanted<Said> = {}): Promise<Said> {
    for (const begun = Date.now(); ; await pauseSince(begun)) {
      const [found] = await this.said(intent, wanted);
      if (found !== undefined) {
        return found;
      }
      if (Date.now() - begun > within) {
        throw new Error(`nobody said this: ${described(wanted)}. What was said:\n${listed(await this.#read(intent))}`);
      }
    }
  }

  /** Settles. @throws Error if something was said as wanted */
  async assertNotSaid(intent: Intent | string, wanted: Wanted<Said> = {}): Promise<void> {
    await this.settle();
    const found = await this.said(intent, wanted);
    if (found.length > 0) {
      throw new Error(`this was said, and nobody should say ${described(wanted)}:\n${listed(found)}`);
    }
  }

  /** Whether an agent has something that it has not acknowledged. */
  async isAtWork(agentId: string): Promise<boolean> {
    if (this.#clock !== undefined) {
      await this.now(); // Everyone who waits looks before this returns.
    }
    const all: any[] = await this.list(`/v1/subscriptions?subscriber_id=${encodeURIComponent(agentId)}`);
    return all.some((one) => one.outstanding_count > 0) && (await this.#lives(agentId));
  }

  /** Whether something of an agent listens. One that has died handles nothing any more. */
  async #lives(agentId: string): Promise<boolean> {
    return (await this.call("GET", `/v1/agents/${encodeURIComponent(agentId)}/reach`)).level === "live";
  }

  /** The agents that have done something with a message, and have not left it out. */
  async woken(channelId: string, messageId: string): Promise<string[]> {
    const deliveries: any[] = await this.list(`/v1/channels/${channelId}/messages/${messageId}/deliveries`);
    const woke = (one: any): boolean => one.answered_at || one.surfaced_at || (one.read_at && one.disposition !== "ignored");
    return deliveries.filter(woke).map((one) => one.agent_id);
  }

  /** Makes a call over REST as the operator, and returns its answer. @throws ServerError for a refusal */
  async call(method: string, path: string, body?: object): Promise<any> {
    return (await this.#fetch(method, path, body)).json();
  }

  /** Reads all pages of a list over REST as the operator. @throws ServerError for a refusal */
  async list(path: string): Promise<any[]> {
    const found: any[] = [];
    for (let following: string | undefined = path; following !== undefined; ) {
      const page: Response = await this.#fetch("GET", following);
      found.push(...((await page.json()) as any[]));
      following = /<([^>]*)>; *rel="next"/.exec(page.headers.get("Link") ?? "")?.[1];
    }
    return found;
  }

  async #fetch(method: string, path: string, body?: object): Promise<Response> {
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const answer = await fetch(this.http + path, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) {
      throw new ServerError(`${method} ${path}: ${await answer.text()}`);
    }
    return answer;
  }

  /** Ends the peers, the clients and the server. */
  async close(): Promise<void> {
    for (const end of this.#ends.splice(0)) {
      await end();
    }
    await this.#program.stop();
  }

  async #moveServer(seconds: number): Promise<Date> {
    return new Date((await this.call("POST", "/v1/test/clock", { advance_seconds: seconds })).now);
  }

  /** Everything that was said in an intent. */
  async #read(intent: Intent | string): Promise<Said[]> {
    const found: Said[] = [];
    for (const [channel, message] of await messagesOf(this, intent)) {
      found.push(saidBy(channel, message, await this.list(`/v1/channels/${message["channel_id"]}/messages/${message["id"]}/deliveries`)));
    }
    return found.sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
  }
}

/**
 * Starts a server for the test whose context is given: that of node:test, or that of vitest. It is closed at the end of the test, and its log
 * is printed if the test fails, where the runner says so.
 */
export async function startServer(test: TestContext, options: ServerOptions = {}): Promise<Server> {
  const server = await Server.start(options);
  const show = (): void => console.error(`log of the OpenIntent server:\n${server.log}`);
  if (test.onTestFinished !== undefined) {
    test.onTestFailed?.(show);
    test.onTestFinished(() => server.close());
  } else if (test.after !== undefined) {
    test.after(async () => {
      if (test.passed === false) {
        show();
      }
      await server.close();
    });
  }
  return server;
}
