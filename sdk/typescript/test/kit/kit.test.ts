import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, AlreadyExistsError, MessageTimeoutError, type Handler, type ReceivedDigest } from "../../src/index.js";
import { loadStory, play, startServer, type PlayOptions, type Server, type Story, type StoryLine } from "../../src/testing/index.js";
import { Playing } from "../../src/testing/playing.js";
import { plain } from "../../src/testing/record.js";

const question = { question: "which schema?" };

/** A channel of a new intent, as the agent `asker` uses it. */
async function opened(server: Server, agentId = "asker") {
  const client = server.client(agentId);
  const intent = await client.intents.open("Test the kit");
  return { intent, channel: await client.channels.open("clarification", intent.id), client };
}

/** Whether a promise has an outcome already. */
function isOver(promise: Promise<unknown>): Promise<boolean> {
  const over = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([over, new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 20))]);
}

test("a question expires", async (t) => {
  const server = await startServer(t);
  const silent = await server.peer("data-agent").staysSilent();
  const { channel } = await opened(server);
  const asked = channel.ask("data-agent", question, { timeout: 30 });
  await silent.assertHeard({ payload: question });
  const before = await server.now();
  await server.advance(29);
  assert.ok(Math.abs((await server.now()).getTime() - before.getTime() - 29_000) < 100);
  await server.settle();
  assert.equal(await isOver(asked), false);
  const refused = assert.rejects(asked, MessageTimeoutError);
  await server.advance(1);
  await refused;
});

test("everything that was said is listed", async (t) => {
  const server = await startServer(t);
  const { intent, channel } = await opened(server);
  for (let number = 0; number < 14; number++) {
    // Together they are more than fits in one page of the server's answers.
    await channel.broadcast({ number, padding: "x".repeat(250_000) });
  }
  assert.deepEqual(
    (await server.said(intent)).map(({ payload }) => payload["number"]),
    Array.from({ length: 14 }, (_, number) => number),
  );
});

test("an answer behind long messages stands", async (t) => {
  const server = await startServer(t);
  const { channel } = await opened(server);
  const mailbox = server.client("helper").mailbox("helper");
  await mailbox.open();
  const told = await channel.notify("helper", { text: "The build is red." });
  assert.equal((await mailbox.take(10)).messages.length, 1);
  for (let number = 0; number < 14; number++) {
    await channel.broadcast({ log: "x".repeat(250_000) }, { parent: told.id });
  }
  const first = await mailbox.answer(told.id, { text: "I look at it." });
  const again = await mailbox.answer(told.id, { text: "I have looked at it." });
  await mailbox.close();
  assert.deepEqual([first.stored, again.stored], [true, false]);
  assert.equal(again.message?.id, first.message?.id);
});

test("a lease lives with its holder", async (t) => {
  const server = await startServer(t);
  const { intent, client } = await opened(server, "holder");
  await client.withLease(
    intent.id,
    "chapter 3",
    async (lease) => {
      await server.advance(600);
      assert.equal(lease.signal.aborted, false);
      await assert.rejects(server.client("other").withLease(intent.id, "chapter 3", () => {}), AlreadyExistsError);
    },
    { durationSeconds: 30 },
  );
});

test("a digest comes", async (t) => {
  const server = await startServer(t);
  const digests: ReceivedDigest[] = [];
  const agent = new Agent({ id: "lead", digestSeconds: 600, ...server.options });
  agent.onDigest((digest) => void digests.push(digest));
  const leaving = new AbortController();
  const running = agent.run({ signal: leaving.signal });
  await agent.started();
  const { client, intent } = await opened(server, "builder");
  const channel = await client.channels.open("steps", intent.id, { members: ["lead", "builder"], memberPolicy: "explicit" });
  for (const step of [1, 2, 3]) {
    await channel.broadcast({ text: `Step ${step} has ended.` }, { kind: "status" });
  }
  await server.advance(590);
  await server.settle();
  assert.equal(digests.length, 0);
  await server.advance(10);
  await server.settle();
  assert.deepEqual(digests.map((digest) => digest.messageCount), [3]);
  leaving.abort();
  await running;
});

test("an obligation returns", async (t) => {
  const server = await startServer(t);
  const debtor = await server.peer("debtor").staysSilent();
  const { channel } = await opened(server, "author");
  await channel.send(question, { to: "debtor", messageType: "request", obligation: { blocks: "halted" } });
  for (const returns of [0, 1, 2]) {
    await server.settle();
    assert.equal(debtor.heard({ sender: "system" }).length, returns);
    await server.advance(600);
  }
});

test("agents that live are not presumed dead", async (t) => {
  const server = await startServer(t);
  await server.peer("living").staysSilent();
  const dying = await server.peer("dying").claimsAndDies();
  const { channel } = await opened(server);
  await channel.notify("dying", question);
  await dying.assertHeard();
  await server.advance(1200);
  assert.equal((await server.call("GET", "/v1/agents/living")).status, "active");
  assert.equal((await server.call("GET", "/v1/agents/dying")).status, "dead");
});

test("a peer answers, and what was said is asserted", async (t) => {
  const server = await startServer(t);
  const peer = await server.peer("data-agent").answers({ answer: "v2.3" });
  const { channel, intent } = await opened(server);
  assert.deepEqual((await channel.ask("data-agent", question)).payload, { answer: "v2.3" });
  assert.deepEqual(peer.heard().map(({ sender, payload }) => [sender, payload]), [["asker", question]]);
  const asked = await server.assertSaid(intent, {
    sender: "asker", to: "data-agent", channel: "clarification", messageType: "request", payload: question,
    dispositions: { "data-agent": "responded" },
  });
  await server.assertSaid(intent, { correlationId: asked.id, payload: (payload) => payload["answer"] === "v2.3" });
  await server.assertNotSaid(intent, { sender: "data-agent", messageType: "notify" });
  await assert.rejects(server.assertNotSaid(intent, { sender: "asker" }), /this was said.*\n {2}asker to data-agent on clarification, request/);
  await peer.answers((payload) => ({ asked: payload.question }));
  assert.deepEqual((await channel.ask("data-agent", question)).payload, { asked: "which schema?" });
});

test("a peer answers after a while", async (t) => {
  const server = await startServer(t);
  const peer = await server.peer("data-agent").answersAfter(20, { answer: "v2.3" });
  const asked = (await opened(server)).channel.ask("data-agent", question, { timeout: 30 });
  await peer.assertHeard();
  await server.advance(19);
  assert.equal(await isOver(asked), false);
  await server.advance(1);
  assert.deepEqual((await asked).payload, { answer: "v2.3" });
});

test("a peer answers twice", async (t) => {
  const server = await startServer(t);
  await server.peer("data-agent").answersTwice({ answer: 1 }, { answer: 2 });
  const answers = await (await opened(server)).channel.askAll("data-agent", question, { minResponses: 2 });
  assert.deepEqual(answers.map(({ payload }) => payload["answer"]).sort(), [1, 2]);
});

test("a request comes to the next one when who has claimed it has died", async (t) => {
  const server = await startServer(t);
  const dying = await server.peer("first", "builder").claimsAndDies();
  const asked = (await opened(server)).channel.ask("role:builder", question, { timeout: 600, collect: "one" });
  await dying.assertHeard();
  await server.peer("second", "builder").answers({ answer: "from the second" });
  await server.settle();
  assert.equal(await isOver(asked), false);
  await server.advance(120);
  assert.equal((await asked).sender, "second");
});

test("nothing is left of a server", async (t) => {
  let port = 0;
  await t.test("a test", async (inner) => {
    const server = await startServer(inner);
    port = Number(server.grpc.split(":")[1]);
  });
  await assert.rejects(new Promise((resolve, reject) => connect(port, "127.0.0.1").once("connect", resolve).once("error", reject)));
});

test("the log is shown only when a test fails", async (t) => {
  for (const passed of [true, false]) {
    const shown = t.mock.method(console, "error", () => {});
    let end = async (): Promise<void> => {};
    await startServer({ passed, after: (then) => void (end = then) });
    await end();
    shown.mock.restore();
    assert.equal(shown.mock.callCount(), passed ? 0 : 1);
  }
});

test("time may flow", async (t) => {
  const server = await startServer(t, { testClock: false });
  await server.peer("data-agent").staysSilent();
  await assert.rejects((await opened(server)).channel.ask("data-agent", question, { timeout: 0.01 }), MessageTimeoutError);
  await assert.rejects(server.advance(1), /testClock/);
});

/** A conversation as the program writes it. */
const story: Story = [
  {
    story: 1,
    title: "Choose a schema",
    channels: [{ name: "clarification", member_policy: "intent" }],
    agents: [{ id: "asker" }, { id: "data-agent" }],
  },
  {
    id: "1", after_seconds: 0, channel: "clarification", sender: "asker", to: "data-agent", message_type: "request",
    payload: question, seconds: 30, woken: ["data-agent"],
  },
  {
    id: "2", after_seconds: 2.5, channel: "clarification", sender: "data-agent", to: "asker", message_type: "response",
    payload: { answer: "v2.3" }, answers: "1",
  },
];

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** What is otherwise when an agent that does something plays the story. */
async function played(server: Server, handler: Handler, matches?: PlayOptions["matches"]): Promise<string[]> {
  const agent = new Agent({ id: "data-agent", logger: silent, ...server.options });
  agent.onMessage(handler);
  const { differences } = await play(story, { agent, server, matches });
  return differences.map(({ kind, text }) => `${kind}: ${text}`);
}

test("a story is played, and names what is otherwise", async (t) => {
  const server = await startServer(t);
  assert.deepEqual(await played(server, () => ({ answer: "v2.3" })), []);
  const other = ['said: data-agent said {"answer":"v2.4"} instead of {"answer":"v2.3"} to asker on clarification'];
  assert.deepEqual(await played(server, () => ({ answer: "v2.4" })), other);
  assert.deepEqual(await played(server, () => ({ answer: "v2.4" }), () => true), []);
  assert.deepEqual(await played(server, () => null), ['not_said: data-agent did not say {"answer":"v2.3"} to asker on clarification']);
  assert.throws(() => loadStory([{}] as unknown as Story), /openintent export INTENT --story/);
});

/** A question that the agent answers with what it asks the archive meanwhile, which answers after 45 seconds. */
const asking: readonly StoryLine[] = [
  { id: "1", after_seconds: 0, channel: "clarification", sender: "asker", to: "data-agent", message_type: "request", payload: question, woken: ["data-agent"] },
  { id: "2", after_seconds: 0, channel: "clarification", sender: "data-agent", to: "archive", message_type: "request", payload: { find: "a schema" } },
  { id: "3", after_seconds: 45, channel: "clarification", sender: "archive", to: "data-agent", message_type: "response", payload: { answer: "v2.3" }, answers: "2" },
  { id: "4", after_seconds: 45, channel: "clarification", sender: "data-agent", to: "asker", message_type: "response", payload: { answer: "v2.3" }, answers: "1" },
];

test("time passes while the agent awaits an answer", async (t) => {
  const server = await startServer(t);
  const agent = new Agent({ id: "data-agent", drainSeconds: 0, logger: silent, ...server.options });
  agent.onMessage(async (message) => {
    const channel = await agent.client.channels.get(message.channelId);
    return (await channel.ask("archive", { find: "a schema" }, { timeout: 600 })).payload;
  });
  const looks = t.mock.method(server, "isAtWork");
  looks.mock.mockImplementation(async (agentId: string) => {
    assert.ok(looks.mock.callCount() < 300, "the story waits for an agent that awaits an answer");
    return Object.getPrototypeOf(server).isAtWork.call(server, agentId);
  });
  // The story waits for ever for an agent that is not calm.
  const head = { ...story[0], agents: [...story[0].agents, { id: "archive" }] };
  const playing = new Playing(server, head, asking, "data-agent", (one, other) => plain(one) === plain(other), Infinity);
  await playing.prepare();
  const leaving = new AbortController();
  const running = agent.run({ signal: leaving.signal });
  try {
    await agent.started();
    assert.deepEqual((await playing.play()).differences, []);
  } finally {
    leaving.abort();
    await running;
  }
});

/** Whether somebody listens at an address. */
async function listens(address: string): Promise<boolean> {
  const [host, port] = address.split(":");
  const socket = connect(Number(port), host);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

test("a server ends with a process that is killed", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "openintent-host-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const kit = new URL("../../src/testing/index.js", import.meta.url);
  const hosts = `const { Server } = await import("${kit}"); console.log((await Server.start()).grpc); process.stdin.resume();`;
  const hosting = spawn(process.execPath, ["--input-type=module", "--eval", hosts], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [said] = await once(hosting.stdout, "data");
  const address = String(said).trim();
  assert.equal(await listens(address), true);
  hosting.kill("SIGKILL");
  await once(hosting, "exit");
  for (const end = Date.now() + 20_000; await listens(address); ) {
    assert.ok(Date.now() < end, "the server is still there");
  }
});
