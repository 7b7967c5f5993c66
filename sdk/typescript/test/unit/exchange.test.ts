import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { AlreadyExistsError, FailedPreconditionError, OpenIntentError } from "../../src/errors.js";
import { GrpcAgentServer } from "../../src/grpc/agent-server.js";
import type { OpenIntentClient } from "../../src/index.js";
import { ExchangeServer, refusal, SetClock, together } from "./exchange-server.js";

const long = { timeout: 60_000 };
let server: ExchangeServer;

beforeEach(async () => {
  server = await new ExchangeServer().start();
});
afterEach(() => server.stop());

const send = async (client: OpenIntentClient, channel = "chan"): Promise<string> => (await client.sendMessage(channel, { text: "hello" })).id;

/** Makes a call, as one attempt. */
async function failure(call: Promise<unknown>): Promise<OpenIntentError> {
  const error = await call.then(
    () => assert.fail("it must fail"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof OpenIntentError, `${error}`);
  return error;
}

test("a client that calls now and then opens no stream, and one that makes ten calls in a second does", long, async () => {
  const clock = new SetClock();
  const client = server.client({ clock, alwaysExchanges: false });
  for (let i = 0; i < 30; i++) {
    assert.equal(await send(client), "alone");
    clock.pass(200);
  }
  assert.equal(server.streams.length, 0);
  clock.pass(2_000);
  for (let i = 0; i < 9; i++) {
    assert.equal(await send(client), "alone");
  }
  assert.equal(await send(client), "together 1");
  const { payload, metadata } = await client.sendMessage("chan", { text: "hello" }, { metadata: { a: 1 } });
  assert.deepEqual([payload, metadata], [{ text: "hello" }, { a: 1 }], "the client has what it sent");

  clock.pass(29_000);
  assert.equal(await send(client), "together 3");
  clock.pass(40_000);
  const [first] = server.streams;
  await server.until("the idle stream is ended", () => first!.ended && first!.closed);
  assert.equal(await send(client), "alone");
  assert.equal(server.streams.length, 1);
});

test("two calls at a time open a stream", long, async () => {
  server.held = [];
  const client = server.client({ alwaysExchanges: false });
  const first = send(client, "one");
  await server.until("the first came", () => server.held!.length === 1);
  assert.equal(await send(client, "another"), "together 1");
  server.held.forEach((answer) => answer());
  assert.equal(await first, "alone");
});

test("sends to a channel wait for those that went before them on their own, and keep their order", long, async () => {
  server.held = [];
  const client = server.client({ alwaysExchanges: false });
  const first = send(client);
  await server.until("the first came", () => server.held!.length === 1);
  const later = [send(client), send(client), client.ask("chan", "bob", { n: 4 }).then(({ id }) => id)];
  assert.equal(await send(client, "another"), "together 1");
  assert.equal(server.requests.length, 1);
  const large = client.sendMessage("chan", { text: "x".repeat(17_000) });
  await server.until("the large one came", () => server.held!.length === 2);
  server.held[0]!();
  assert.equal(await first, "alone");
  assert.deepEqual(await Promise.all(later), ["together 2", "together 3", "together 4"], "the large one came later than they");
  assert.deepEqual(server.requests.map(({ request }) => request.case), ["send", "send", "send", "ask"]);
  server.held[1]!();
  assert.equal((await large).id, "alone");
});

test("large requests, and those with headers of their own, are made on their own", long, async () => {
  const client = server.client();
  assert.equal((await client.sendMessage("chan", { text: "x".repeat(16 << 10) })).id, "alone");
  const trace = { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`, traceId: "1".repeat(32) };
  const tracing = { start: () => ({ trace, run: <T>(body: () => T): T => body(), end: () => {} }) };
  assert.equal(await send(server.client({ tracing })), "alone");
  assert.equal(server.streams.length, 0);
  assert.equal(await send(client), "together 1");
});

test("everything that an exchange carries goes on it", long, async () => {
  server.say = ({ number, request }) => {
    switch (request.case) {
      case "react":
        return { answer: { case: "reactions", value: { reactions: [{ agentId: "me", signal: request.value.signal }] } } };
      case "acknowledge":
        return { answer: { case: "subscription", value: { id: request.value.subscriptionId } } };
      default:
        return { answer: together(number) };
    }
  };
  const client = server.client();
  await send(client);
  await client.replyTo("chan", "m1", { text: "hello" });
  await client.ask("chan", "bob", { text: "hello?" });
  const [reaction] = await client.addReaction("chan", "m1", "agree");
  assert.equal(reaction?.signal, "agree");
  const agent = new GrpcAgentServer(client.connection, { id: "me" });
  await agent.acknowledge("sub", [1, 2], { signal: new AbortController().signal, timeoutMs: 20_000 });
  const came = server.requests.map(({ request }) => request.case);
  assert.deepEqual(came, ["send", "reply", "ask", "react", "acknowledge"]);
  assert.deepEqual([server.alone, server.streams.length], [[], 1]);
});

test("what is there in one turn goes in one frame", long, async () => {
  const client = server.client();
  await send(client);
  await Promise.all(Array.from({ length: 100 }, () => send(client)));
  assert.deepEqual(server.streams[0]!.frames, [1, 64, 36]);
});

test("a refusal is the same error on a stream as on its own", long, async () => {
  const closed = refusal(9, "CHANNEL_CLOSED", "The channel is closed.");
  server.say = () => ({ answer: { case: "refusal", value: closed } });
  server.refusalAlone = closed;
  const [alone, on] = [await failure(send(server.client({ alwaysExchanges: false }))), await failure(send(server.client()))];
  assert.equal(server.requests.length, 1);
  const shape = ({ name, code, reason, message, metadata, violations, messageId, retryDelayMs }: OpenIntentError): unknown[] => [
    name, code, reason, message, metadata, violations, messageId, retryDelayMs,
  ];
  assert.deepEqual(shape(on), shape(alone));
  assert.ok(on instanceof FailedPreconditionError);
  assert.deepEqual([on.metadata, on.retryDelayMs], [{ message_id: "m1" }, 5]);
});

test("a request for which the stream has no room is made on its own, under its key", long, async () => {
  server.say = () => ({ answer: { case: "refusal", value: refusal(8, "TOO_MANY_UNDER_WAY") } });
  assert.equal((await server.client().sendMessage("chan", {}, { idempotencyKey: "k1" })).id, "alone");
  assert.deepEqual(server.alone, ["SendMessage k1"]);
});

test("a message that was changed since it was stored is asked for whole", long, async () => {
  const stamp = { seconds: 1n, nanos: 0 };
  for (const changed of [{ editedAt: stamp }, { deletedAt: stamp }]) {
    server.say = () => ({ answer: { case: "message", value: { id: "old", ...changed } } });
    assert.equal(await send(server.client()), "alone");
  }
});

test("an answer of another kind is an error", long, async () => {
  server.say = () => ({ answer: { case: "subscription", value: { id: "sub" } } });
  assert.equal((await failure(server.client().ask("chan", "bob", {}))).code, "INTERNAL");
});

test("a call that is given up is cancelled, and one that was not sent is left out", long, async () => {
  server.say = ({ number, request }) => (request.case === "ask" ? undefined : { answer: together(number) });
  const client = server.client();
  const reason = new Error("enough");
  const giving = new AbortController();
  const asked = client.ask("chan", "bob", {}, { signal: giving.signal });
  await server.until("the ask came", () => server.requests.length === 1);
  const unsent = client.sendMessage("chan", {}, { signal: giving.signal });
  giving.abort(reason);
  await assert.rejects(asked, reason);
  await assert.rejects(unsent, reason);
  await server.until("the server hears of it", () => server.streams[0]!.cancelled.length > 0);
  assert.equal(await send(client), "together 3");
  assert.deepEqual(server.streams[0]!.cancelled, [1]);
  assert.equal(server.requests.length, 2);
  await assert.rejects(client.sendMessage("chan", {}, { signal: giving.signal }), reason);
});

test("a call ends with its time, and the server hears of it", long, async () => {
  server.say = () => undefined;
  const agent = new GrpcAgentServer(server.client().connection, { id: "me" });
  const late = agent.acknowledge("sub", [1], { signal: new AbortController().signal, timeoutMs: 1 });
  assert.match((await failure(late)).message, /No answer came in time/);
  const sent = agent.acknowledge("sub", [2], { signal: new AbortController().signal, timeoutMs: 200 });
  const failed = failure(sent);
  await server.until("it is cancelled", () => server.streams[0]?.cancelled.length === 1);
  assert.match((await failed).message, /No answer came in time/);
});

test("a server that reads slowly is not flooded, and calls that wait for it can be given up", long, async () => {
  server.reads = false;
  const client = server.client();
  const ask = (signal?: AbortSignal): Promise<string> => client.ask("chan", "bob", { text: "x".repeat(10_000) }, { signal }).then(({ id }) => id);
  const first = Array.from({ length: 100 }, () => ask());
  await server.until("the stream is there", () => server.streams.length === 1);
  const giving = new AbortController();
  const given = Array.from({ length: 100 }, () => assert.rejects(ask(giving.signal), /enough/));
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setImmediate(resolve)); // They would be sent meanwhile if there were room.
  }
  giving.abort(new Error("enough"));
  await Promise.all(given);
  server.read(server.streams[0]!);
  assert.equal(new Set(await Promise.all(first)).size, 100);
  assert.equal(await send(client), "together 201");
  assert.deepEqual([server.requests.length, server.streams[0]!.cancelled], [101, []]);
  assert.equal(server.alone.length, 0);
});

test("at most 250 requests are unanswered, and the next ones go when there is room", long, async () => {
  server.say = () => undefined;
  const client = server.client();
  const calls = Array.from({ length: 260 }, () => send(client));
  await server.until("250 came", () => server.requests.length >= 250);
  const [stream] = server.streams;
  const asked = client.ask("chan", "bob", {});
  stream!.requests.slice(0, 5).forEach(({ number }) => stream!.stored(number));
  await server.until("five more came", () => server.requests.length >= 255);
  assert.equal(server.requests.length, 255);
  server.say = ({ number }) => ({ answer: together(number) });
  stream!.requests.slice(5).forEach(({ number }) => stream!.stored(number));
  assert.equal(new Set(await Promise.all(calls)).size, 260);
  assert.equal((await asked).id, "together 261");
});

test("a key that means another message is refused on a stream, too", long, async () => {
  server.say = () => ({ answer: { case: "refusal", value: refusal(6, "IDEMPOTENCY_KEY_REUSED") } });
  assert.ok((await failure(send(server.client()))) instanceof AlreadyExistsError);
});
