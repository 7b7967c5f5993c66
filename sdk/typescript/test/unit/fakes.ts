import { grpcAddress } from "../../src/address.js";
import type { Logger } from "../../src/agent/log.js";
import { Client } from "../../src/client.js";
import { systemClock, type Clock } from "../../src/clock.js";
import { nothingMore } from "../../src/conversation-types.js";
import { connectionLost } from "../../src/errors.js";
import { settle } from "../../src/settings.js";
import type { Followed, Transport } from "../../src/transport.js";
import type { Channel, ChannelMessage, Message } from "../../src/types.js";

/** A clock that jumps to the next timer whenever nothing else happens. */
export class FakeClock implements Clock {
  time = 0;
  /** The waits that were started and not stopped, in milliseconds. */
  readonly waits: number[] = [];
  #timers: { at: number; milliseconds: number; then: () => void }[] = [];
  #pumping = false;

  now(): number {
    return this.time;
  }

  random(): number {
    return 0.5;
  }

  after(milliseconds: number, then: () => void): () => void {
    const timer = { at: this.time + milliseconds, milliseconds, then };
    this.#timers.push(timer);
    this.#pump();
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  #pump(): void {
    if (this.#pumping) {
      return;
    }
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      const next = this.#timers.sort((a, b) => a.at - b.at).shift();
      if (next !== undefined) {
        this.time = Math.max(this.time, next.at);
        this.waits.push(next.milliseconds);
        next.then();
        this.#pump();
      }
    });
  }
}

/** A clock on which no time passes. */
export const still: Clock = { now: () => 0, after: () => () => {}, random: () => 0 };

/** A clock for real connections: time passes only when an attempt fails, however long it took. Timers run in real time. */
export class FailureClock implements Clock {
  #failures = 0;
  readonly after = systemClock.after;

  constructor(private readonly each: number) {}

  now(): number {
    return this.#failures * this.each;
  }

  /** Is asked once after each failure, for the wait that follows. */
  random(): number {
    this.#failures++;
    return 0;
  }
}

/** A logger that keeps what it is told: the level and the first line of each text, and all of the text aside. */
export class RecordingLogger implements Logger {
  readonly lines: string[] = [];
  readonly texts: string[] = [];
  debug = (text: string): void => this.#keep("debug", text);
  info = (text: string): void => this.#keep("info", text);
  warn = (text: string): void => this.#keep("warn", text);
  error = (text: string): void => this.#keep("error", text);

  #keep(level: string, text: string): void {
    this.lines.push(`${level} ${text.split("\n")[0]}`);
    this.texts.push(text);
  }
}

/** A transport on which only the given methods may be called. */
export function fakeTransport(methods: Partial<Transport>): Transport {
  return new Proxy(methods, {
    get(target, name) {
      return (
        target[name as keyof Transport] ??
        (() => {
          throw new Error(`${String(name)} was not expected`);
        })
      );
    },
  }) as Transport;
}

/** What errors of fake clients call their server. */
export const serverName = "127.0.0.1:50051";

class FakeClient extends Client {
  constructor(transport: Transport, clock: Clock, agentId: string | undefined) {
    super(transport, settle({ clock, agentId }, grpcAddress(serverName, false)));
  }
}

export function fakeClient(
  methods: Partial<Transport>,
  clock: Clock = new FakeClock(),
  agentId: string | undefined = "asker",
): Client {
  return new FakeClient(fakeTransport(methods), clock, agentId);
}

export function message(id: string, fields: Partial<Message> = {}): Message {
  return {
    id,
    channelId: "chan_1",
    sender: "responder",
    to: "asker",
    messageType: "notify",
    correlationId: null,
    payload: {},
    metadata: {},
    status: "delivered",
    createdAt: new Date(1_000),
    expiresAt: null,
    readAt: null,
    isError: false,
    ...nothingMore,
    ...fields,
  };
}

export function channel(name: string, fields: Partial<Channel> = {}): Channel {
  return {
    id: "chan_1",
    intentId: "intent",
    address: null,
    taskId: null,
    name,
    createdBy: "asker",
    members: [],
    memberPolicy: "intent",
    options: { audit: false, ttlSeconds: null, maxMessages: 1000, history: "all" as const, turnBudget: 20, conversationBudget: null },
    status: "open",
    createdAt: new Date(0),
    closedAt: null,
    messageCount: 0,
    lastMessageAt: null,
    ...fields,
  };
}

export function followed(position: number, id: string, fields: Partial<Message> = {}): Followed {
  const whole: ChannelMessage = { ...message(id, fields), position, intentId: "intent", channelName: "c", attention: null };
  return { position, message: whole };
}

/** The failure of a lost connection. */
export const lost = (): Error => connectionLost("lost");
