import { AgentLog } from "../../src/agent/log.js";
import { Receiving, type ReceivingOptions } from "../../src/agent/receiving.js";
import type { AgentServer, AgentSubscription, Delivery, Heartbeat, InboxPage, Received } from "../../src/agent/server.js";
import type { Attempt } from "../../src/transport.js";
import type { Message } from "../../src/types.js";
import { FakeClock, message, RecordingLogger } from "./fakes.js";

/** A request to the agent "me". */
export function received(id: string, fields: Partial<Message> = {}): Received {
  const whole = message(id, { messageType: "request", sender: "asker", to: "me", ...fields });
  return { message: whole, intentId: "intent", channelName: "c", position: 1, attempt: 1 };
}

/** A delivery of one request. */
export const delivery = (number: number, id: string, fields: Partial<Message> = {}): Delivery => ({
  number,
  standingBy: false,
  received: [received(id, fields)],
  digest: null,
});

/** A server whose streams bring the given deliveries, one stream after the other; the last one makes the agent leave. */
export class StreamingServer implements AgentServer {
  acknowledged: number[] = [];
  confirmed: string[] = [];
  /** What a confirmation does then. */
  confirming: (attempt: Attempt) => Promise<void> = async () => {};
  opened: string[] = [];
  subscriptions = 0;
  /** The subscription that is there before the agent makes one. */
  there: AgentSubscription | undefined;
  inboxPages: InboxPage[] = [];
  active = true;
  /** The streams stand by until this resolves. */
  taken: Promise<void> = Promise.resolve();
  /** What the last stream brings when the agent is leaving. */
  late: AsyncIterable<Delivery> = (async function* () {})();
  readonly leaving = new AbortController();
  /** How many streams are open. */
  open = 0;
  inboxLooks = 0;
  #exhausted = false;

  constructor(private readonly streams: (Delivery | Error)[][]) {}

  async register(): Promise<number> {
    return 30_000;
  }
  async heartbeat(): Promise<Heartbeat> {
    return { interval: 30_000, draining: false };
  }
  async deregister(): Promise<void> {}
  async createSubscription(): Promise<AgentSubscription | undefined> {
    if (this.there !== undefined) {
      return undefined;
    }
    const made = { id: `sub_${++this.subscriptions}`, createdAt: new Date(2_000), active: this.active };
    this.active = true;
    return made;
  }
  async findSubscription(): Promise<AgentSubscription | undefined> {
    return this.there;
  }
  async deleteSubscription(): Promise<void> {
    this.there = undefined;
  }
  async *deliveries(id: string, _max: number, accepted: () => void, attempt: Attempt): AsyncGenerator<Delivery, void> {
    this.opened.push(id);
    this.open++;
    attempt.signal.addEventListener("abort", () => this.open--);
    accepted();
    await this.taken;
    yield { number: 0, standingBy: false, received: [], digest: null };
    for (const item of this.streams.shift() ?? []) {
      if (item instanceof Error) {
        throw item;
      }
      yield item;
    }
    this.#exhausted = true;
    this.#leaveOnceGiven();
    yield* this.late;
    attempt.signal.throwIfAborted();
    await new Promise((_, reject) => attempt.signal.addEventListener("abort", () => reject(attempt.signal.reason)));
  }
  async surface(): Promise<void> {}

  async acknowledge(_id: string, numbers: readonly number[]): Promise<void> {
    this.acknowledged.push(...numbers);
  }
  async confirm(probeId: string, attempt: Attempt): Promise<void> {
    this.confirmed.push(probeId);
    await this.confirming(attempt);
  }
  /** Makes the agent leave once it has got everything, and everything that follows has happened. */
  #leaveOnceGiven(): void {
    if (this.#exhausted && this.inboxLooks >= 2) {
      setImmediate(() => this.leaving.abort());
    }
  }
  async inbox(): Promise<InboxPage> {
    this.inboxLooks++;
    this.#leaveOnceGiven();
    return this.inboxPages.shift() ?? { requests: [], nextCursor: undefined };
  }
}

/** Receives from a server until it makes the agent leave. */
export async function play(
  server: StreamingServer,
  handle: (received: Received) => Promise<void>,
  more: Partial<ReceivingOptions> = {},
): Promise<{ log: string[]; open: number }> {
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const options = {
    agentId: "me",
    concurrency: 16,
    handle,
    log: new AgentLog("me", "here", logger, clock),
    accepted: () => {},
    tookOver: () => {},
    ...more,
  };
  const end = new AbortController();
  const receiving = new Receiving(server, clock, options, end.signal);
  try {
    await receiving.run(server.leaving.signal);
  } catch (error) {
    if (!server.leaving.signal.aborted) {
      throw error;
    }
  }
  await receiving.finished();
  const { open } = server;
  end.abort();
  return { log: logger.lines, open };
}
