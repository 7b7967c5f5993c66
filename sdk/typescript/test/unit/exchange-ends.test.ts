import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, test } from "node:test";
import { UnauthenticatedError, UnavailableError } from "../../src/errors.js";
import type { NumberedRequest } from "../../src/generated/openintent/v1/exchange_pb.js";
import { GrpcTransport } from "../../src/grpc/transport.js";
import { gotNoConnection } from "../../src/server-away.js";
import type { OpenIntentClient } from "../../src/index.js";
import { ExchangeServer, ok, refusal, SetClock, together } from "./exchange-server.js";

const long = { timeout: 60_000 };
let server: ExchangeServer;

beforeEach(async () => {
  server = await new ExchangeServer().start();
});
afterEach(() => server.stop());

const send = async (client: OpenIntentClient, channel = "chan"): Promise<string> => (await client.sendMessage(channel, { text: "hello" })).id;

const keyOf = ({ request }: NumberedRequest): string => (request.case === "send" ? (request.value.idempotencyKey ?? "") : "");

test("a server that knows no exchanges is asked once", long, async () => {
  server.refusal = refusal(12, "", "unknown service openintent.v1.ExchangeService");
  const clock = new SetClock();
  const client = server.client({ clock });
  for (let i = 0; i < 3; i++) {
    assert.equal(await send(client), "alone");
    clock.pass(3_600_000);
  }
  assert.equal(server.streams.length, 1);
});

test("when the server has no room for a stream, calls go on their own for ten seconds", long, async () => {
  server.refusal = refusal(8, "TOO_MANY_STREAMS");
  const clock = new SetClock();
  const client = server.client({ clock });
  assert.equal(await send(client), "alone");
  server.refusal = undefined;
  clock.pass(9_000);
  assert.equal(await send(client), "alone");
  clock.pass(1_000);
  assert.equal(await send(client), "together 1");
});

test("calls go on their own for ten seconds after a stream that was lost before it brought an answer", long, async () => {
  for (const loses of [true, false]) {
    server.say = (_, stream) => (loses ? stream.lose() : stream.end(ok)) as undefined;
    const before = server.streams.length;
    const client = server.client();
    const message = await client.sendMessage("chan", {}, { idempotencyKey: `k ${loses}` });
    assert.equal(message.id, "alone");
    assert.equal(server.alone.at(-1), `SendMessage k ${loses}`);
    assert.equal(await send(client), "alone");
    assert.equal(server.streams.length, before + 1);
  }
  server.say = (_, stream) => stream.lose() as undefined;
  const clock = new SetClock();
  const client = server.client({ clock });
  const first = send(client);
  const last = server.streams.length;
  await server.until("the stream was lost", () => server.streams[last]?.closed === true);
  const retried = setInterval(() => clock.pass(50), 1);
  await first;
  clearInterval(retried);
  server.say = ({ number }) => ({ answer: together(number) });
  clock.pass(10_000);
  assert.equal(await send(client), "together 1");
});

test("calls whose stream is lost go on another one, in their order and under their keys, once each", long, async () => {
  const client = server.client();
  await send(client);
  server.say = () => undefined;
  const calls = Array.from({ length: 100 }, (_, i) => client.sendMessage("chan", { i }).then(({ payload }) => payload.i));
  const [first] = server.streams;
  await server.until("they came", () => first!.requests.length === 101);
  for (const number of [2n, 50n]) {
    first!.stored(number);
  }
  await Promise.all([calls[0], calls[48]]);
  server.say = ({ number }) => ({ answer: together(number) });
  first!.lose();
  assert.deepEqual(await Promise.all(calls), Array.from({ length: 100 }, (_, i) => i));
  assert.equal(server.streams.length, 2);
  const unanswered = first!.requests.filter(({ number }) => ![1n, 2n, 50n].includes(number));
  assert.deepEqual(server.streams[1]!.requests.map(keyOf), unanswered.map(keyOf));
  assert.equal(server.alone.length, 0);
});

test("a stream that ends because its answers were not taken, or because the server stops, is a lost one", long, async () => {
  for (const [code, reason] of [[8, "ANSWERS_NOT_TAKEN"], [14, "SERVER_STOPPING"], [0, ""]] as const) {
    const client = server.client();
    await send(client);
    const stream = server.streams.at(-1)!;
    server.say = ({ number }, on) => (on === stream ? { ends: code === 0 ? ok : refusal(code, reason) } : { answer: together(number) });
    assert.equal(await send(client), "together 1");
    assert.notEqual(server.streams.at(-1), stream);
  }
});

test("a call that was lost with two streams fails like any other, and is made again later", long, async () => {
  const client = server.client();
  await send(client);
  let losses = 0;
  server.say = ({ number }, stream) => {
    if (number > 1n) {
      stream.lose();
      losses++;
      return undefined;
    }
    return { answer: together(number) };
  };
  const calls = [send(client), send(client)];
  await Promise.all(calls);
  assert.ok(losses >= 1);
  const keys = server.requests.slice(1).map(keyOf);
  assert.equal(new Set(keys).size, 2, "the same keys each time");
});

test("a call that a stream may have brought is not said to have never gone, also if nobody listens any more", long, async () => {
  const client = server.client();
  await send(client);
  server.say = () => undefined;
  const request = { channelId: "chan", to: "bob", payload: {}, metadata: {}, timeoutSeconds: 20, idempotencyKey: "k" };
  const asked = new GrpcTransport(client.connection).ask(request, { signal: new AbortController().signal });
  await server.until("the ask came", () => server.requests.length === 2);
  server.vanish();
  await assert.rejects(asked, (error: Error) => {
    assert.ok(error instanceof UnavailableError && !gotNoConnection(error), `${error}`);
    return true;
  });
  const next = new GrpcTransport(client.connection).ask(request, { signal: new AbortController().signal });
  await assert.rejects(next, (error: Error) => gotNoConnection(error));
});

test("when the key ends, calls fail with the server's reason", long, async () => {
  const client = server.client();
  await send(client);
  server.say = () => undefined;
  const asked = client.ask("chan", "bob", {});
  const sent = send(client);
  await server.until("they came", () => server.requests.length === 3);
  const ends = refusal(16, "API_KEY_REMOVED", "The key was removed.");
  const failing = [asked, sent].map((call) =>
    assert.rejects(call, (error) => error instanceof UnauthenticatedError && error.reason === "API_KEY_REMOVED"),
  );
  server.streams[0]!.answer(2n, { case: "refusal", value: ends });
  server.streams[0]!.end(ends);
  await Promise.all(failing);
  assert.equal(server.streams.length, 1);
});

test("after ten minutes calls go to another stream, which sends nothing before the first one's sends are answered", long, async () => {
  const clock = new SetClock();
  const client = server.client({ clock });
  await send(client);
  const [first] = server.streams;
  server.say = ({ number }, stream) => (stream === first ? undefined : { answer: together(number) });
  const asked = client.ask("chan", "bob", {}, { timeout: 3_600 });
  const sent = client.sendMessage("chan", {}, { timeout: 3_600 }).then(({ id }) => id);
  await server.until("they came", () => first!.requests.length === 3);
  clock.pass(600_001);
  const next = send(client);
  await server.until("the next stream is there", () => server.streams.length === 2);
  // What goes on the connection after the next stream has begun.
  assert.equal((await client.sendMessage("another", { text: "x".repeat(17_000) }, { timeout: 3_600 })).id, "alone");
  assert.equal(server.streams[1]!.requests.length, 0);
  assert.equal(first!.ended, false, "an ask waits on it");
  first!.stored(3n);
  assert.equal(await sent, "together 3");
  assert.equal(await next, "together 1");
  first!.stored(2n);
  assert.equal((await asked).id, "together 2");
  await server.until("the first stream ended", () => first!.ended && first!.closed);
  assert.deepEqual(server.streams.map(({ requests }) => requests.length), [3, 1]);
});

test("closing the client ends its calls and its streams, and leaves nothing behind", long, async () => {
  const clock = new SetClock();
  const client = server.client({ clock, alwaysExchanges: false });
  server.held = [];
  const closed = { name: "OpenIntentError", code: "CANCELLED" };
  const alone = send(client);
  await server.until("the first came", () => server.held!.length === 1);
  const waits = send(client); // For the one before it.
  server.say = () => undefined;
  const asked = client.ask("another", "bob", {});
  await server.until("the ask came", () => server.requests.length === 1);
  const failing = [alone, waits, asked].map((call) => assert.rejects(call, closed));
  client.close();
  await Promise.all(failing);
  await assert.rejects(send(client), closed);
  await server.until("the stream ended", () => server.streams[0]!.closed);
  assert.deepEqual([server.streams.length, server.alone.length], [1, 1], "nothing was made again");
  assert.equal(clock.waiting, 0);
});

test("a program ends although its stream stands, and not before its calls have ended", long, async () => {
  let asked = 0;
  server.say = ({ number, request }, stream) => {
    if (request.case === "ask") {
      asked++;
      setTimeout(() => stream.stored(number), 200);
      return undefined;
    }
    return { answer: together(number) };
  };
  const entry = new URL("../../src/index.js", import.meta.url).href;
  const program = `
    const { OpenIntentClient } = await import("${entry}");
    const client = new OpenIntentClient({ server: "${server.address}", agentId: "me", alwaysExchanges: true });
    await client.sendMessage("chan", {});
    console.log((await client.ask("chan", "bob", {})).id);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const stuck = setTimeout(() => child.kill(), 20_000);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk));
  const [code] = await once(child, "close");
  clearTimeout(stuck);
  assert.deepEqual([output, code, asked, server.streams.length], ["together 2\n", 0, 1, 1]);
});
