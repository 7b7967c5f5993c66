import { RecordingLogger } from "../unit/fakes.js";
import { Agent } from "../../src/index.js";
import type { ReceivedMessage } from "../../src/agent/message.js";
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
  readonly #handled = new Map<string, Set<string>>();
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
      logger: new RecordingLogger(),
    });
    for (const handler of handlers) {
      const take = (message: ReceivedMessage): Promise<object | null> => this.#handle(name, agent, handler, message);
      if (handler.obligation) {
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

  /** Waits until an agent's handlers were called for that many different messages. */
  async handled(id: string, count: number): Promise<void> {
    const seen = (): number => this.#handled.get(id)?.size ?? 0;
    await this.#changed.until(
      () => seen() >= count,
      patience,
      () => `${id} handled ${seen()} of ${count} messages`,
    );
  }

  async #handle(id: string, agent: Agent, handler: HandlerFile, message: ReceivedMessage): Promise<object | null> {
    const seen = this.#handled.get(id) ?? new Set();
    this.#handled.set(id, seen.add(message.id));
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
    return handler.echo ? { echo: message.payload } : (handler.reply ?? null);
  }

  #gate(name: string): Gate {
    const gate = this.#gates.get(name) ?? new Gate();
    this.#gates.set(name, gate);
    return gate;
  }
}
