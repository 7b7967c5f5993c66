import { Agent, type AgentOptions } from "../agent/agent.js";
import type { Handler, ReceivedMessage } from "../agent/message.js";
import { ServerError } from "./program.js";
import { described, listed, matches, type Heard, type Wanted } from "./record.js";
import { turn, type MovedClock } from "./moved-clock.js";

/** What a peer answers: a payload, or a function that makes one of the question's. */
export type Answer = object | ((payload: any) => object);

/** How long assertions wait for what must happen, in milliseconds. */
const within = 5_000;

const silent = { info() {}, warn() {}, error() {}, debug() {} };

/**
 * An agent that does what its script says. The last line that was written counts, from the next message on. A peer without a script is not
 * there. Each line of the script resolves when the peer receives.
 */
export class Peer {
  readonly #heard: Heard[] = [];
  readonly #options: AgentOptions;
  readonly #clock: MovedClock | undefined;
  #act: Handler = () => null;
  #agent: Agent | null = null;
  #running: Promise<void> = Promise.resolve();
  readonly #leaving = new AbortController();

  constructor(options: AgentOptions, clock: MovedClock | undefined) {
    this.#options = { ...options, logger: silent, drainSeconds: 0 };
    this.#clock = clock;
  }

  /** Answers every request with a payload, or with what a function makes of the request's payload. */
  answers(answer: Answer): Promise<this> {
    return this.does((message) => (message.messageType === "request" ? made(answer, message) : null));
  }

  /** Receives everything, and answers nothing. */
  staysSilent(): Promise<this> {
    return this.does(() => null);
  }

  /** Answers every request when the test has let so many seconds pass since it came. */
  answersAfter(seconds: number, answer: Answer): Promise<this> {
    return this.does(async (message) => {
      if (message.messageType !== "request") {
        return null;
      }
      await new Promise<void>((resolve) => {
        if (this.#clock === undefined) {
          throw new ServerError("a peer answers when the test moves time, and this server's time flows by itself");
        }
        this.#clock.rest(seconds * 1000, resolve);
      });
      return made(answer, message);
    });
  }

  /** Answers every request twice: with the same payload, unless there is a second one. */
  answersTwice(first: Answer, second: Answer = first): Promise<this> {
    return this.does(async (message) => {
      if (message.messageType !== "request") {
        return null;
      }
      await message.reply(made(first, message));
      return made(second, message);
    });
  }

  /**
   * Claims the first message that comes, for so many seconds, and dies: its connection ends, it renews nothing, and the server hears nothing
   * more of it.
   */
  claimsAndDies(ttlSeconds = 90): Promise<this> {
    return this.does((message) => {
      const dying = (): Promise<never> => {
        this.#agent?.client.close();
        return new Promise(() => {}); // It does nothing more.
      };
      const exact = message.to?.startsWith("role:") && message.collect !== null && message.collect !== "any" && message.collect !== "all";
      return exact ? dying() : message.withClaim(dying, { ttlSeconds });
    });
  }

  /** Calls a handler with each message; what it returns is the answer. */
  async does(act: Handler): Promise<this> {
    this.#act = act;
    if (this.#agent === null) {
      this.#agent = new Agent(this.#options);
      this.#agent.onMessage((message) => {
        const { id, channelId, channelName: channel, sender, messageType, payload } = message;
        this.#heard.push({ id, channelId, channel, sender, messageType, payload });
        return this.#act(message);
      });
      this.#running = this.#agent.run({ signal: this.#leaving.signal }).catch(() => {}); // It may have died.
      await this.#agent.started();
    }
    return this;
  }

  /** What has reached the peer, in order: all, or the messages that are as wanted. */
  heard(wanted: Wanted<Heard> = {}): Heard[] {
    return this.#heard.filter((message) => matches(message, wanted));
  }

  /** Waits, at most for 5 seconds, until a message reaches the peer that is as wanted. @throws Error with what has reached it instead */
  async assertHeard(wanted: Wanted<Heard> = {}): Promise<Heard> {
    for (const end = Date.now() + within; ; await turn(5)) {
      const [found] = this.heard(wanted);
      if (found !== undefined) {
        return found;
      }
      if (Date.now() > end) {
        throw new Error(`${this.#options.id} did not hear this: ${described(wanted)}. It heard:\n${listed(this.#heard)}`);
      }
    }
  }

  /** Leaves. */
  async close(): Promise<void> {
    this.#leaving.abort();
    await Promise.race([this.#running, turn(2_000)]);
    this.#agent?.client.close();
  }
}

function made(answer: Answer, message: ReceivedMessage): object {
  return typeof answer === "function" ? answer(message.payload) : answer;
}
