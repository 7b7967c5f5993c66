import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { OpenIntentClient, type Batch, type ChannelHandle, type Following, type JsonObject, type MailboxMessage, type Message } from "@openintent/channels";
import { AgentProcess } from "./agent-process.js";
import type { Action } from "./script.js";
import { Server } from "./server.js";

/** How long one test takes at most, in milliseconds. */
const timeout = 900_000;

const question = "which schema?";
const answer = (text: string, id: string): Action => ({ calls: [{ id, tool: "answer", args: { message_id: `$${question}`, text } }] });
const look: Action = { calls: [{ id: "look-1", tool: "look", args: {} }] };
const consult: Action = { calls: [{ id: "consult-1", tool: "consult", args: {} }] };
const react = (words: string, id: string): Action => ({ calls: [{ id, tool: "react", args: { message_id: `$${words}`, signal: "seen" } }] });

/** A conversation of a planner with one agent. */
export class Talk {
  readonly #processes: AgentProcess[] = [];
  readonly state = join(mkdtempSync(join(tmpdir(), "openintent-bar-")), "state");

  private constructor(
    private readonly server: Server,
    private readonly program: string,
    readonly agent: string,
    readonly channel: ChannelHandle,
    private readonly planner: OpenIntentClient,
    private readonly following: Following<JsonObject>,
  ) {}

  static async begin(server: Server, program: string, agent: string): Promise<Talk> {
    const planner = new OpenIntentClient({ server: server.address, agentId: "planner" });
    const intent = await planner.intents.open(`Talk with ${agent}`);
    const channel = await planner.channels.open("talk", intent.id);
    return new Talk(server, program, agent, channel, planner, await planner.follow(channel.id).started());
  }

  /** Starts a process of the agent, whose model does this. */
  start(actions: readonly Action[], helper: readonly Action[] = []): AgentProcess {
    const { agent, state } = this;
    const started = AgentProcess.start(this.program, { agent, actions, helper, state }, this.server.address);
    this.#processes.push(started);
    return started;
  }

  asks(text = question): Promise<Message> {
    return this.channel.send({ text }, { to: this.agent, messageType: "request" });
  }

  tells(text: string): Promise<Message> {
    return this.channel.send({ text }, { to: this.agent, messageType: "notify" });
  }

  /** What the agent has answered to a request, once it has one. */
  async answered(request: Message): Promise<unknown[]> {
    await this.planner.resumeAsk(this.channel.id, request.id, { timeout: 300 });
    const all = await this.planner.listMessages(this.channel.id, { limit: 100 });
    return all.filter(({ correlationId }) => correlationId === request.id).map(({ payload }) => payload);
  }

  /** A question of the agent to the planner, once there is one. */
  async isAsked(): Promise<Message> {
    for await (const message of this.following) {
      if (message.messageType === "request" && message.sender === this.agent) {
        return message;
      }
    }
    throw new Error("the channel was closed");
  }

  replies(request: Message, text: string): Promise<Message> {
    return this.planner.replyTo(this.channel.id, request.id, { text });
  }

  /** The questions of the agent. */
  async questions(): Promise<Message[]> {
    const all = await this.planner.listMessages(this.channel.id, { limit: 100 });
    return all.filter(({ messageType, sender }) => messageType === "request" && sender === this.agent);
  }

  /**
   * Checks that these texts, and no others, come again. No process of the agent may run. The server may still hold the stream of the process
   * that has ended, and then this one stands by at first. So a message is sent that comes after all others, and is waited for.
   */
  async leaves(...expected: readonly string[]): Promise<void> {
    const mailbox = this.planner.mailbox(this.agent);
    const { id: last } = await this.tells("That is all.");
    const batches: Batch[] = [];
    const found = (): MailboxMessage[] => batches.flatMap(({ messages }) => messages);
    while (!found().some(({ id }) => id === last) || found().length <= expected.length) {
      batches.push(await mailbox.take(300));
      assert.notEqual(batches.at(-1)!.messages.length, 0, `only ${found().length} messages came`);
    }
    const others = found().filter(({ id }) => id !== last);
    await Promise.all(batches.map((batch) => batch.settle({ except: others.map(({ id }) => id) })));
    await mailbox.close();
    assert.deepEqual(others.map(({ message }) => message.payload["text"]).sort(), [...expected].sort());
  }

  async end(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
    await this.following.return();
    this.planner.close();
    rmSync(join(this.state, ".."), { recursive: true });
  }
}

/** Ends an agent as an operator does. Nothing that it was shown is left. */
async function endsCleanly(talk: Talk, agent: AgentProcess): Promise<void> {
  agent.terminate();
  assert.equal(await agent.ended(), 0);
  await talk.leaves();
}

/** What else an adapter can do. */
export interface Able {
  /** Its `ask` suspends a run, which the answer resumes. */
  readonly suspends?: boolean;
  /** Calls of tools that were cut off are made again from what the framework has stored. */
  readonly repeats?: boolean;
}

/** What each adapter must hold to. `agent` is the compiled program with an agent of the framework. */
export function holdsTheBar(agent: URL, able: Able = {}): void {
  const program = fileURLToPath(agent);
  onEachEngine((server) => scenes(program, server, able));
}

/** Describes tests on each engine, with a server of its own for each. */
export function onEachEngine(tests: (server: () => Server) => void): void {
  for (const engine of ["SQLite", "PostgreSQL"] as const) {
    describe(engine, { timeout: 10 * timeout }, () => {
      let server: Server;
      before(async () => {
        server = await Server.start(engine);
      });
      after(() => server.stop());
      tests(() => server);
    });
  }
}

function scenes(program: string, server: () => Server, { suspends, repeats }: Able): void {
  let talk: Talk;
  let talks = 0;
  afterEach(() => talk.end());
  const scene = (sentence: string, play: (talk: Talk) => Promise<void>): void => {
    test(sentence, { timeout }, async () => {
      talk = await Talk.begin(server(), program, `agent-${++talks}`);
      await play(talk);
    });
  };
  scene("a question is asked and answered, and the agent ends cleanly", async (talk) => {
    const asked = await talk.asks();
    const agent = talk.start([answer("v2.3", "call-1")]);
    assert.match(await agent.call(), new RegExp(question.replace("?", "\\?")));
    assert.match(await agent.call(), /Your answer is stored\./);
    assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
    await endsCleanly(talk, agent);
  });
  scene("what comes while a run is under way is shown at the next call, and at each one after it", showsWhatComes);
  scene("a message that was taken and not settled comes again after a SIGKILL", async (talk) => {
    const asked = await talk.asks();
    const first = talk.start([{ hold: true }]);
    assert.match(await first.call(), /which schema/);
    await first.kill();
    const second = talk.start([answer("v2.3", "call-1")]);
    assert.match(await second.call(), /which schema/);
    assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
    await second.call();
    await endsCleanly(talk, second);
  });
  scene("a message comes again after a SIGKILL while a tool is at work", async (talk) => {
    const asked = await talk.asks();
    const first = talk.start([consult], [{ hold: true }]);
    await first.call();
    await first.call("helper");
    await first.kill();
    const second = talk.start([answer("v2.3", "call-1")]);
    if (repeats) {
      await second.call("helper");
    }
    assert.match(await second.call(), /which schema/);
    assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
    await second.call();
    await endsCleanly(talk, second);
  });
  scene("after a SIGKILL between the answer and the settling, one answer stands, and the model is told which", answersOnce);
  scene("calls of another agent of the framework are shown nothing, take nothing and settle nothing", leavesOthersAlone);
  scene("a run that fails settles nothing", async (talk) => {
    const asked = await talk.asks();
    const agent = talk.start([{ fail: "the model is broken" }, answer("v2.3", "call-1")]);
    assert.match(await agent.call(), /which schema/);
    assert.match(await agent.call(), /which schema/);
    assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
  });
  scene("at SIGTERM the run that is under way ends, and is settled", async (talk) => {
    const asked = await talk.asks();
    const agent = talk.start([answer("v2.3", "call-1"), { hold: true, say: "Done." }]);
    await agent.call();
    await agent.call();
    agent.terminate();
    agent.go();
    assert.equal(await agent.ended(), 0);
    assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
    await talk.leaves();
  });
  if (suspends) {
    scene("a run that asks is stored and settled, and the answer resumes it in another process", (talk) => waitsAcrossRuns(talk, false));
  }
  if (repeats) {
    scene("a question that was asked before a SIGKILL is asked once", (talk) => waitsAcrossRuns(talk, true));
  }
}

async function waitsAcrossRuns(talk: Talk, killed: boolean): Promise<void> {
  const asks = { id: "ask-1", tool: "ask", args: { channel: "talk", to: "planner", question: "which table?" } };
  const first = talk.start([{ calls: [asks] }]);
  await first.opened();
  const asked = await talk.asks();
  await first.call();
  const theirs = await talk.isAsked();
  if (killed) {
    await first.kill();
  } else {
    first.terminate();
    assert.equal(await first.ended(), 0);
    await talk.leaves();
  }
  await talk.replies(theirs, "the orders");
  const second = talk.start([answer("v2.3", "call-2")]);
  const resumed = await second.call();
  assert.match(resumed, /the orders/);
  assert.match(resumed, /which schema/);
  assert.match(await second.call(), /Your answer is stored\./);
  assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
  await endsCleanly(talk, second);
  assert.equal((await talk.questions()).length, 1);
}

async function showsWhatComes(talk: Talk): Promise<void> {
  await talk.asks();
  const agent = talk.start([answer("v2.3", "call-1"), { hold: true, ...react(question, "call-2") }, react("and which table?", "call-3"), look]);
  await agent.call();
  assert.doesNotMatch(await agent.call(), /and which table/);
  await talk.tells("and which table?");
  await agent.came(2);
  agent.go();
  const next = await agent.call();
  const afterNext = await agent.call();
  for (const prompt of [next, afterNext]) {
    assert.equal(prompt.split("and which table?").length - 1, 1, prompt);
    assert.equal(prompt.split('"text":"which schema?"').length - 1, 1, prompt);
  }
  await endsCleanly(talk, agent);
}

async function answersOnce(talk: Talk): Promise<void> {
  const first = talk.start([answer("v2.3", "call-1"), { hold: true }]);
  await first.opened();
  const asked = await talk.asks();
  await first.call();
  assert.match(await first.call(), /Your answer is stored\./);
  await first.kill();

  const twice = [answer("v2.4", "call-7").calls![0]!, answer("v2.5", "call-8").calls![0]!];
  const second = talk.start([answer("v3", "call-5"), { calls: twice }]);
  assert.match(await second.call(), /which schema/);
  assert.equal((await second.call()).split("You have answered: v2.3").length - 1, 1);
  assert.equal((await second.call()).split("You have answered: v2.3").length - 1, 3);
  assert.deepEqual(await talk.answered(asked), [{ text: "v2.3" }]);
  await endsCleanly(talk, second);
}

async function leavesOthersAlone(talk: Talk): Promise<void> {
  await talk.asks();
  const first = talk.start([consult, { hold: true }], [{ hold: true, ...look }, { say: "It rains." }]);
  await first.call();
  assert.doesNotMatch(await first.call("helper"), /which schema/);
  await talk.tells("and which table?");
  await first.came(2);
  first.go();
  assert.doesNotMatch(await first.call("helper"), /which/);
  const shown = await first.call();
  assert.match(shown, /It rains\./);
  assert.match(shown, /and which table/);
  await first.kill();
  await talk.leaves(question, "and which table?");
}
