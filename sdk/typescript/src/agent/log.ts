import { inspect } from "node:util";
import type { Clock } from "../clock.js";
import { RecentIds } from "../recent.js";
import { briefly } from "../server-away.js";
import type { Received } from "./server.js";

/** Takes what an agent says about itself, a text for each event. `console` is one, and so are most loggers. */
export interface Logger {
  debug(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

/**
 * How long after the first warning about a server that stays away the second one comes, in milliseconds. Each later one comes after
 * twice as long as the one before, and after an hour at most.
 */
const firstReminder = 10_000;
const longestReminder = 3_600_000;

/** How many channels without a handler are remembered, so that each is named once. */
const remembered = 1_000;

/** What one run of an agent says in its log. The agents of all languages say the same. */
export class AgentLog {
  readonly #unhandled = new RecentIds(remembered);
  /** Whether the server has said if this process receives or stands by, on the connection that is open. */
  #connected = false;
  #wasConnected = false;
  #awaySince: number | null = null;
  #warnedAt = 0;
  #reminder = firstReminder;

  constructor(
    private readonly agent: string,
    private readonly server: string,
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  /** The server says that this process receives. */
  receives(): void {
    if (this.#connected) {
      this.#say("info", "takes over: it receives from now on");
    } else {
      this.#say("info", `${this.#connect()} and receives`);
    }
  }

  /** The server says that another process receives. */
  standsBy(): void {
    this.#say("info", `${this.#connect()} and stands by: another process receives for it`);
  }

  #connect(): string {
    const again = this.#wasConnected ? " again" : "";
    this.#connected = this.#wasConnected = true;
    this.#awaySince = null;
    return `is connected to ${this.server}${again}`;
  }

  /** The stream ended, or could not be opened. */
  disconnected(error: unknown): void {
    if (!this.#connected) {
      this.unreachable(error);
      return;
    }
    this.#connected = false;
    this.#say("info", `lost its connection to ${this.server} and connects again: ${lineOf(error)}`);
  }

  /** An attempt to reach the server failed. The first in a row is told, and then some at growing intervals. */
  unreachable(error: unknown): void {
    const now = this.clock.now();
    if (this.#awaySince === null) {
      this.#awaySince = this.#warnedAt = now;
      this.#reminder = firstReminder;
      this.#say("warn", `cannot reach the server at ${this.server} and keeps trying: ${lineOf(error)}`);
    } else if (now - this.#warnedAt >= this.#reminder) {
      this.#warnedAt = now;
      this.#reminder = Math.min(2 * this.#reminder, longestReminder);
      const time = durationOf(now - this.#awaySince);
      this.#say("warn", `has not reached the server at ${this.server} for ${time} and keeps trying: ${lineOf(error)}`);
    }
  }

  /** A heartbeat failed, and is sent again. */
  heartbeatFailed(error: unknown): void {
    this.#say("debug", `could not send a heartbeat and sends it again: ${lineOf(error)}`);
  }

  noteRefused(error: unknown): void {
    this.#say("warn", `had its status note refused: ${lineOf(error)}`);
  }

  leaving(running: number): void {
    this.#say("info", `is leaving and waits for ${running} running handlers`);
  }

  left(): void {
    this.#say("info", "has left");
  }

  leftBefore(running: number): void {
    this.#say("warn", `left before ${running} of its handlers ended`);
  }

  givesUp(error: unknown): void {
    this.#say("error", `gives up: ${(this.#awaySince !== null && briefly(error)) || lineOf(error)}`);
  }

  /** A message came that no handler takes. Each channel's name is told once. */
  unhandled({ channelName }: Received, handled: readonly string[]): void {
    if (this.#unhandled.add(channelName)) {
      const others = handled.map((name) => JSON.stringify(name)).join(", ");
      const rest = others === "" ? "it has no handlers at all" : `it has handlers for ${others}`;
      this.#say("warn", `has no handler for channel ${JSON.stringify(channelName)}; ${rest}`);
    }
  }

  /** A handler threw, or returned what is no answer. */
  handlerFailed(received: Received, error: unknown): void {
    const { message, channelName } = received;
    const what = `the handler for channel ${JSON.stringify(channelName)} failed on message ${message.id}`;
    this.#tell("error", `: ${what}: ${lineOf(error)}\n${shown(error)}`);
  }

  /** The payload of a message, or what a handler returned, does not have the form that it must have. */
  unfit(received: Received, returned: boolean, error: unknown): void {
    const what = returned ? "what the handler returned for" : "the payload of";
    const { message, channelName } = received;
    this.#tell("error", `: ${what} message ${message.id} on channel ${JSON.stringify(channelName)} does not fit: ${lineOf(error)}`);
  }

  /** A handler of digests threw. */
  digestFailed(error: unknown): void {
    this.#tell("error", `: the handler for digests failed: ${lineOf(error)}\n${shown(error)}`);
  }

  /** A digest came that nothing handles. */
  digestUnhandled(messages: number): void {
    this.#say("debug", `has no handler for digests, and leaves out one of ${messages} messages`);
  }

  replaces(): void {
    this.#say("info", "replaces its subscription, which lets messages wait in another way");
  }

  answeredLate(received: Received, error: unknown): void {
    this.#tell("warn", `: ${answerTo(received)} came too late: ${lineOf(error)}`);
  }

  /** The server refused an answer for another reason than its time. */
  answerRefused(received: Received, error: unknown): void {
    this.#tell("warn", `: ${answerTo(received)} was refused: ${lineOf(error)}`);
  }

  /** The handling of a message broke off. The server will deliver it again. */
  brokeOff({ message }: Received, error: unknown): void {
    this.#say("warn", `could not finish message ${message.id}, which will come again: ${lineOf(error)}`);
  }

  /** Deliveries could not be acknowledged. The server will deliver them again. */
  notAcknowledged(error: unknown): void {
    this.#say("warn", `could not acknowledge messages, which will come again: ${lineOf(error)}`);
  }

  /** The inbox could not be read. */
  inboxUnread(error: unknown): void {
    this.#say("warn", `could not read its inbox: ${lineOf(error)}`);
  }

  #say(level: keyof Logger, text: string): void {
    this.#tell(level, ` ${text}`);
  }

  /** A logger that throws does not stop the agent. */
  #tell(level: keyof Logger, text: string): void {
    try {
      this.logger[level](`agent ${this.agent}${text}`);
    } catch {
      // There is nowhere to say so.
    }
  }
}

function answerTo({ message, channelName }: Received): string {
  return `the answer to message ${message.id} on channel ${JSON.stringify(channelName)}`;
}

/** What an error says, in one line. */
function lineOf(error: unknown): string {
  return readable(() => (error instanceof Error ? error.message : String(error))).replace(/\s*\n\s*/g, " ");
}

/** Everything that is known of an error: its stack, its fields and its causes. */
function shown(error: unknown): string {
  return readable(() => inspect(error));
}

/** A text; empty when it cannot be read, since anything can be thrown. */
function readable(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

/** A time in milliseconds, as in 2m0s. */
function durationOf(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${hours > 0 ? `${hours}h` : ""}${seconds >= 60 ? `${minutes}m` : ""}${seconds % 60}s`;
}
