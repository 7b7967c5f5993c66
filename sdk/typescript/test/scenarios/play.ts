import { randomBytes } from "node:crypto";
import type { Client } from "../../src/client.js";
import type { Channel, ChannelHandle } from "../../src/exports.js";
import { Cast } from "./cast.js";
import { expectError, expectResult } from "./expectations.js";
import { BackgroundFollowing } from "./followings.js";
import type { HeldInBackground } from "./held.js";
import type { AnyBox } from "./mailboxes.js";
import { Names, resolve, snaked, type Saved } from "./names.js";
import type { ScenarioFile, StepFile, Values } from "./scenario.js";
import type { Face, Stage } from "./stage.js";
import { steps } from "./steps.js";

/** What to call the operator where a name is needed. */
const operator = "";

/** One scenario in play: who takes part, and what is kept. */
export class Play {
  readonly names: Names;
  readonly saved: Saved = new Map();
  readonly followings = new Map<string, BackgroundFollowing>();
  readonly background = new Map<string, Promise<any>>();
  readonly claims = new Map<string, HeldInBackground>();
  readonly mailboxes = new Map<string, AnyBox>();
  readonly #clients = new Map<string, Client>();
  readonly #handles = new Map<string, Map<string, ChannelHandle>>();
  readonly #created = new Map<string, Channel>();
  cast!: Cast;
  intentId!: string;

  private constructor(
    readonly stage: Stage,
    readonly face: Face,
    private readonly scenario: ScenarioFile,
  ) {
    this.names = new Names(scenario, "r" + randomBytes(4).toString("hex"));
  }

  /** Plays a scenario from its beginning to its end. */
  static async through(stage: Stage, face: Face, scenario: ScenarioFile): Promise<void> {
    const play = new Play(stage, face, scenario);
    const { title = scenario.name, ...rest } = scenario.intent ?? {};
    play.intentId = (await play.client(undefined).intents.create(title, rest)).id;
    play.cast = new Cast(stage, play.names, play.intentId);
    play.saved.set("run", play.names.run).set("intent", play.intentId);
    try {
      await Promise.all((scenario.agents ?? []).map((agent) => play.cast.start(agent)));
      for (const [i, step] of play.scenario.steps.entries()) {
        await play.#step(step, `step ${i + 1} (${step.do})`);
      }
    } finally {
      await play.#end();
    }
  }

  client(name: string | undefined): Client {
    const key = name ?? operator;
    const client =
      this.#clients.get(key) ?? this.stage.client(this.face, name === undefined ? undefined : this.names.own(name));
    this.#clients.set(key, client);
    return client;
  }

  /** Moves a name's client and its handles to a replica. */
  useReplica(name: string | undefined, replica: number): void {
    const client = this.stage.client(this.face, name === undefined ? undefined : this.names.own(name), replica);
    this.#clients.set(name ?? operator, client);
    const handles = this.#handlesOf(name);
    handles.forEach((handle, channel) => handles.set(channel, client.handle(handle)));
  }

  /** The handle that a name has of a channel: of the one that was created, or opened. */
  async handle(name: string | undefined, channel: string, options: Values = {}): Promise<ChannelHandle> {
    const handles = this.#handlesOf(name);
    const known = handles.get(channel);
    if (known !== undefined) {
      return known;
    }
    const client = this.client(name);
    const created = this.#created.get(channel);
    const handle = created ? client.handle(created) : await client.channels.open(channel, this.intentId, options);
    handles.set(channel, handle);
    return handle;
  }

  keepCreated(channel: Channel): void {
    this.#created.set(channel.name, channel);
    this.#handles.forEach((handles) => handles.delete(channel.name));
  }

  #handlesOf(name: string | undefined): Map<string, ChannelHandle> {
    const handles = this.#handles.get(name ?? operator) ?? new Map<string, ChannelHandle>();
    this.#handles.set(name ?? operator, handles);
    return handles;
  }

  async #step(step: StepFile, where: string): Promise<void> {
    const result = this.#perform(step, where);
    if (step.background !== undefined) {
      result.catch(() => {}); // The step that waits for it gets it.
      this.background.set(step.background, result);
      return;
    }
    let outcome: any;
    try {
      outcome = this.names.plain(snaked(await result));
    } catch (error) {
      if (step.expect_error === undefined) {
        throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
      expectError(error, resolve(step.expect_error, this.saved), where);
      this.#save(step, { message_id: (error as { messageId: string | null }).messageId });
      return;
    }
    if (step.expect_error !== undefined) {
      throw new Error(`${where}: it did not fail, but gave ${JSON.stringify(outcome)}`);
    }
    if ("expect" in step) {
      expectResult(outcome, resolve(step.expect, this.saved), where);
    }
    this.#save(step, outcome);
  }

  #save(step: StepFile, value: any): void {
    if (step.save !== undefined) {
      this.saved.set(step.save, value);
    }
  }

  /** Does a step as often as it says. */
  async #perform(step: StepFile, where: string): Promise<any> {
    const perform = steps[step.do];
    if (perform === undefined) {
      throw new Error(`${where}: the runner does not know this step`);
    }
    const once = (saved: Saved): Promise<any> => {
      const fields = this.names.within(resolve(step.with ?? {}, saved));
      return perform({ play: this, as: step.as, fields, where, saveAs: step.save });
    };
    const ith = (i: number): Saved => new Map(this.saved).set("i", i);
    if (step.parallel !== undefined) {
      return Promise.all(Array.from({ length: step.parallel }, (_, i) => once(ith(i))));
    }
    if (step.repeat !== undefined) {
      const results = [];
      for (let i = 0; i < step.repeat; i++) {
        results.push(await once(ith(i)));
      }
      return results;
    }
    return once(this.saved);
  }

  async #end(): Promise<void> {
    await Promise.all([...this.followings.values()].map((following) => following.leave()));
    await Promise.all([...this.claims.values()].map((held) => held.release()));
    await Promise.all([...this.mailboxes.values()].map((box) => box.close()));
    this.#clients.forEach((client) => client.close());
    await this.cast.stopAll();
  }
}
