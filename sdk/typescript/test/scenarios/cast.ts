import { RecordingLogger } from "../unit/fakes.js";
import { Agent, type ReceivedDigest, type ReceivedMessage } from "../../src/index.js";
import { summed } from "./handled.js";
import type { AgentFile, HandlerFile } from "./scenario.js";
import type { Names } from "./names.js";
import { Condition, Gate } from "./waiting.js";
import type { Stage } from "./stage.js";

/** How long to wait for something that must happen, in milliseconds. */
const patience = 20_000;

interface Actor {
  readonly agent: Agent;
  readonly running: Promise<void>;
}

/** The running agents of a scenario. */
export class Cast {
  readonly #actors = new Map<string, Actor>();
  readonly #gates = new Map<string, Gate>();
  /** The messages that agents' handlers were called for, by their ids, in their order. */
  readonly #handled = new Map<string, Map<string, ReceivedMessage>>();
  readonly #digests = new Map<string, ReceivedDigest[]>();
  readonly #changed = new Condition();

  constructor(
    private readonly stage: Stage,
    private readonly names: Names,
    private readonly intentId: string,
  ) {}

  /** Starts an agent and returns once it receives. */
  async start(facts: AgentFile): Promise<void> {
    const { id, role, concurrency, handlers, attention, skip_unaddressed: skipUnaddressed, drain } = facts;
    const name = facts.process ?? id;
    const agent = new Agent({
      ...this.stage.connection(),
      id: this.names.own(id),
      ...(role !== undefined && { role: this.names.own(role) }),
      ...(concurrency !== undefined && { concurrency }),
      ...(attention !== undefined && { attention }),
      ...(skipUnaddressed !== undefined && { skipUnaddressed }),
      ...(drain !== undefined && { drainSeconds: drain }),
      ...(facts.compose !== undefined && { compose: facts.compose }),
      ...(facts.digest_seconds !== undefined && { digestSeconds: facts.digest_seconds }),
      ...(facts.max_chars !== undefined && { maxChars: facts.max_chars }),
      logger: new RecordingLogger(),
    });
    for (const handler of handlers) {
      const take = (message: ReceivedMessage): Promise<object | null> => this.#handle(name, agent, handler, message);
      if (handler.digest) {
        agent.onDigest((digest) => this.#keep(name, digest));
      } else if (handler.obligation) {
        agent.onObligation(take);
      } else if (handler.mention) {
        agent.onMention(take);
      } else if (handler.channel === undefined) {
        agent.onMessage(take);
      } else {
        agent.onMessage(handler.channel, take);
      }
    }
    const running = agent.run({ signal: new AbortController().signal });
    running.catch(() => {}); // Thrown by `started`, or by `stop`.
    this.#actors.set(name, { agent, running });
    await agent.started();
  }

  /** Makes an agent say what it is doing. */
  note(id: string, note: string): void {
    const actor = this.#actors.get(id);
    if (actor === undefined) {
      throw new Error(`There is no agent ${id}.`);
    }
    actor.agent.setStatusNote(note);
  }

  /** Makes an agent leave, and throws the failure that ended it before, if any. */
  async stop(id: string): Promise<void> {
    const actor = this.#actors.get(id);
    if (actor === undefined) {
      throw new Error(`There is no agent ${id}.`);
    }
    this.#actors.delete(id);
    await actor.agent.leave();
    await actor.running;
  }

  async stopAll(): Promise<void> {
    this.#gates.forEach((gate) => gate.open());
    await Promise.all([...this.#actors.keys()].map((id) => this.stop(id)));
  }

  release(gate: string): void {
    this.#gate(gate).open();
  }

  /** Waits until an agent's handlers were called for that many different messages, and returns these in their order. */
  async handled(id: string, count: number): Promise<ReceivedMessage[]> {
    const seen = (): ReceivedMessage[] => [...(this.#handled.get(id)?.values() ?? [])];
    await this.#changed.until(
      () => seen().length >= count,
      patience,
      () => `${id} handled ${seen().length} of ${count} messages`,
    );
    return seen();
  }

  /** Waits until an agent's handlers were called for these messages, and returns them. */
  async these(id: string, wanted: readonly string[]): Promise<ReceivedMessage[]> {
    const seen = (): ReceivedMessage[] => wanted.flatMap((one) => this.#handled.get(id)?.get(one) ?? []);
    await this.#changed.until(
      () => seen().length === wanted.length,
      patience,
      () => `${id} handled ${seen().length} of ${wanted.length} messages`,
    );
    return seen();
  }

  /** Waits until an agent's digests sum up that many messages, and returns what they say as one. */
  async digested(id: string, count: number): Promise<object> {
    const digests = (): ReceivedDigest[] => this.#digests.get(id) ?? [];
    const messages = (): number => digests().reduce((sum, { messageCount }) => sum + messageCount, 0);
    await this.#changed.until(
      () => messages() >= count,
      patience,
      () => `the digests of ${id} sum up ${messages()} of ${count} messages`,
    );
    return summed(digests());
  }

  #keep(id: string, digest: ReceivedDigest): void {
    this.#digests.set(id, [...(this.#digests.get(id) ?? []), digest]);
    this.#changed.changed();
  }

  async #handle(id: string, agent: Agent, handler: HandlerFile, message: ReceivedMessage): Promise<object | null> {
    const seen = this.#handled.get(id) ?? new Map<string, ReceivedMessage>();
    if (!seen.has(message.id)) {
      this.#handled.set(id, seen.set(message.id, message));
    }
    this.#changed.changed();
    if (handler.gate !== undefined) {
      await this.#gate(handler.gate).opened;
    }
    if (handler.note !== undefined) {
      agent.setStatusNote(handler.note);
    }
    if (handler.fail !== undefined) {
      throw new Error(handler.fail);
    }
    if (handler.message_reply !== undefined) {
      await message.reply(handler.message_reply);
    }
    if (handler.ask !== undefined) {
      const channel = await agent.client.channels.open(handler.ask.channel, this.intentId);
      return (await channel.ask(this.names.own(handler.ask.to), handler.ask.payload)).payload;
    }
    if (handler.attempt) {
      return { attempt: message.attempt };
    }
    return handler.echo ? { echo: message.payload } : (handler.reply ?? null);
  }

  #gate(name: string): Gate {
    const gate = this.#gates.get(name) ?? new Gate();
    this.#gates.set(name, gate);
    return gate;
  }
}
