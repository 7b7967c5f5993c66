import assert from "node:assert/strict";
import { test } from "node:test";
import { errorFrom } from "../../src/errors.js";
import { Gate } from "../scenarios/waiting.js";
import { lost } from "./fakes.js";
import { delivery, play, received, StreamingServer } from "./streaming.js";

test("each message is handled once, and every delivery of it acknowledged", async () => {
  const server = new StreamingServer([
    [delivery(1, "a"), delivery(2, "b"), delivery(3, "a"), lost()],
    [delivery(1, "a"), delivery(2, "b"), delivery(3, "a"), delivery(4, "c")],
  ]);
  const handled: string[] = [];
  await play(server, async ({ message }) => void handled.push(message.id));
  assert.deepEqual(handled.sort(), ["a", "b", "c"]);
  assert.deepEqual([...new Set(server.acknowledged)].sort(), [1, 2, 3, 4]);
});

test("responses, the agent's own messages and events are acknowledged unhandled", async () => {
  const server = new StreamingServer([
    [delivery(1, "r", { messageType: "response" }), delivery(2, "o", { sender: "me" }), { number: 3, standingBy: false, received: [], digest: null }],
  ]);
  await play(server, async () => assert.fail("nothing must be handled"));
  assert.deepEqual(server.acknowledged, [1, 2, 3]);
});

test("messages start in order, a bounded number at once, and are acknowledged only when handled", async () => {
  const server = new StreamingServer([[1, 2, 3, 4].map((n) => delivery(n, `m${n}`))]);
  const started: string[] = [];
  const gate = new Gate();
  let running = 0;
  await play(
    server,
    async ({ message }) => {
      started.push(message.id);
      assert.ok(++running <= 2);
      if (started.length === 2) {
        assert.deepEqual(server.acknowledged, []);
        gate.open();
      }
      await gate.opened;
      running--;
    },
    { concurrency: 2 },
  );
  assert.deepEqual(started, ["m1", "m2", "m3", "m4"]);
  assert.deepEqual(server.acknowledged.sort(), [1, 2, 3, 4]);
});

test("a message that could not be handled is reported, stays unacknowledged, and is handled when it comes again", async () => {
  const server = new StreamingServer([[delivery(1, "a"), delivery(2, "b")], []]);
  const { log } = await play(server, async ({ message }) => {
    if (message.id === "a") {
      throw new Error("no answer stored");
    }
  });
  assert.deepEqual(log, [
    "info agent me is connected to here and receives",
    "warn agent me could not finish message a, which will come again: no answer stored",
  ]);
  assert.deepEqual(server.acknowledged, [2]);
});

test("messages in the inbox that are older than the subscription come first, and what the stream brings is not handled twice", async () => {
  const server = new StreamingServer([[delivery(1, "new")]]);
  const requests = [received("old", { createdAt: new Date(1_000) }), received("new", { createdAt: new Date(3_000) })];
  const rest = [...requests, received("granted", { createdAt: new Date(2_500) })];
  server.inboxPages = [
    { requests, nextCursor: undefined },
    { requests: rest, nextCursor: undefined },
  ];
  const handled: string[] = [];
  await play(server, async ({ message }) => void handled.push(message.id));
  assert.deepEqual(handled, ["old", "new", "granted"]);
});

test("an agent that leaves waits for the delivery of what it found in the inbox, and begins nothing new", async () => {
  const server = new StreamingServer([[]]);
  const left = new Gate();
  server.leaving.signal.addEventListener("abort", left.open);
  server.late = (async function* () {
    await left.opened;
    yield delivery(1, "later");
    yield delivery(2, "found");
  })();
  const found = { requests: [received("found", { createdAt: new Date(3_000) })], nextCursor: undefined };
  server.inboxPages = [found, found];
  const handled: string[] = [];
  await play(server, async ({ message }) => void handled.push(message.id));
  assert.deepEqual(handled, ["found"]);
  assert.deepEqual(server.acknowledged, [2]);
});

test("the stream stays open until the running handlers have ended and their deliveries are acknowledged", async () => {
  const server = new StreamingServer([[delivery(1, "long")]]);
  const open: number[] = [];
  const played = await play(server, async () => {
    await new Promise((resolve) => server.leaving.signal.addEventListener("abort", resolve));
    for (let turns = 0; turns < 100; turns++) {
      await new Promise(setImmediate);
      open.push(server.open);
    }
  });
  assert.ok(open.every((streams) => streams === 1));
  assert.deepEqual(server.acknowledged, [1]);
  assert.deepEqual([played.open, server.open], [1, 0]);
});

test("the inbox is left alone until this process is the one that receives", async () => {
  const server = new StreamingServer([[]]);
  const gate = new Gate();
  server.taken = gate.opened;
  server.inboxPages = [{ requests: [received("old", { createdAt: new Date(1_000) })], nextCursor: undefined }];
  const handled: string[] = [];
  const played = play(server, async ({ message }) => void handled.push(message.id));
  while (server.opened.length === 0) {
    await new Promise(setImmediate);
  }
  assert.equal(server.inboxLooks, 0);
  gate.open();
  await played;
  assert.deepEqual(handled, ["old"]);
  assert.deepEqual(server.acknowledged, []);
});

test("a subscription that ended is created again; a failure that waiting cannot mend ends the receiving", async () => {
  const ended = errorFrom({ code: "FAILED_PRECONDITION", reason: "SUBSCRIPTION_ENDED", message: "" });
  const server = new StreamingServer([[ended], [delivery(1, "a")]]);
  server.active = false;
  await play(server, async () => {});
  assert.deepEqual(server.opened, ["sub_2", "sub_3"]);
  for (const code of ["UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT"] as const) {
    await assert.rejects(
      play(new StreamingServer([[errorFrom({ code, message: "" })]]), async () => {}),
      { code },
    );
  }
});
