import assert from "node:assert/strict";
import { test } from "node:test";
import { ChannelClosedError, DeclinedError, errorFrom, MessageDeletedError, MessageTimeoutError, PayloadError, RemoteError, RemotePayloadError, UnavailableError } from "../../src/errors.js";
import { notConnected } from "../../src/server-away.js";
import type { AskAllOptions } from "../../src/asking.js";
import type { AskRequest, Transport } from "../../src/transport.js";
import { channel, fakeClient, FakeClock, lost, message } from "./fakes.js";

const response = (id: string): ReturnType<typeof message> =>
  message(id, { messageType: "response", correlationId: "msg_q" });

test("every attempt at an ask is the same question", async () => {
  const asked: AskRequest[] = [];
  const client = fakeClient({
    async ask(request) {
      asked.push(request);
      if (asked.length < 3) {
        throw lost();
      }
      return response("msg_r");
    },
  });
  const answer = await client.ask("chan_1", "data", { n: 1 }, { timeout: 7, metadata: { tag: "x" } });
  assert.equal(answer.id, "msg_r");
  assert.deepEqual(asked[1], asked[0]);
  assert.deepEqual(asked[2], asked[0]);
  const { channelId, to, payload, metadata, timeoutSeconds } = asked[0]!;
  assert.deepEqual(
    { channelId, to, payload, metadata, timeoutSeconds },
    {
      channelId: "chan_1",
      to: "data",
      payload: { n: 1 },
      metadata: { tag: "x" },
      timeoutSeconds: 7,
    },
  );
});

test("a question waits for what is left of its time while no attempt can have arrived, and then stays the same", async () => {
  const clock = new FakeClock();
  const asked: [number, number][] = [];
  // A server that stops ends waits for the responses to what it has stored.
  const stopping = errorFrom({ code: "UNAVAILABLE", reason: "SERVER_STOPPING", message: "" });
  const failures = [notConnected("no"), notConnected("no"), stopping, notConnected("no")];
  const client = fakeClient(
    {
      async ask({ timeoutSeconds }) {
        asked.push([timeoutSeconds, clock.time]);
        throw failures.shift() ?? errorFrom({ code: "DEADLINE_EXCEEDED", reason: "MESSAGE_TIMEOUT", message: "" });
      },
    },
    clock,
  );
  await assert.rejects(client.ask("chan_1", "data", {}, { timeout: 7 }), MessageTimeoutError);
  assert.deepEqual(
    asked.map(([seconds, at]) => [Math.round(seconds * 1000), at]),
    [
      [7000, 0],
      [6925, 75],
      [6775, 225],
      [6775, 525],
      [6775, 1125],
    ],
  );
});

test("the first attempt at a question waits for what its caller said, however long it took to make", async () => {
  const clock = new FakeClock();
  let passed = 0;
  clock.now = () => (passed += 0.174);
  const asked: number[] = [];
  const client = fakeClient({ ask: async ({ timeoutSeconds }) => (asked.push(timeoutSeconds), message("msg_1")) }, clock);
  await client.ask("chan_1", "data", {}, { timeout: 0.3 });
  assert.deepEqual(asked, [0.3]);
});

test("a question to a server that is away is an UnavailableError, which names the request if it is known", async () => {
  const metadata = { message_id: "msg_q" };
  const named = [errorFrom({ code: "UNAVAILABLE", reason: "DATABASE_UNAVAILABLE", message: "", metadata })];
  const fail = async (): Promise<never> => {
    throw named.shift() ?? lost();
  };
  const client = fakeClient({ ask: fail, askAll: fail, awaitResponses: fail });
  await assert.rejects(client.ask("chan_1", "data", {}), { constructor: UnavailableError, messageId: "msg_q" });
  await assert.rejects(client.askAll("chan_1", "data", {}), { constructor: UnavailableError, messageId: null });
  await assert.rejects(client.resumeAsk("chan_1", "msg_q"), { constructor: UnavailableError, messageId: "msg_q" });
});

test("a failed handler's answer is a RemoteError of ask, and a response like others of ask_all", async () => {
  const failed = message("msg_r", { isError: true, payload: { error: { type: "E", message: "broken" } } });
  const client = fakeClient({ ask: async () => failed, askAll: async () => [failed] });
  await assert.rejects(
    client.ask("chan_1", "data", {}),
    (error) => error instanceof RemoteError && error.message === "broken",
  );
  assert.deepEqual(await client.askAll("chan_1", "data", {}), [failed]);
  const unfit = message("msg_r", { isError: true, payload: { error: { type: "PayloadError", message: "no table" } } });
  await assert.rejects(
    fakeClient({ ask: async () => unfit }).ask("chan_1", "data", {}),
    (error) => error instanceof RemotePayloadError && error instanceof RemoteError && error.response.sender === "responder",
  );
  await assert.rejects(client.ask("chan_1", "data", { n: NaN }), { constructor: PayloadError, reason: "INVALID_PAYLOAD" });
});

test("responses are yielded as they come, until no more can", async () => {
  const waits: [number, number][] = [];
  const pages = [
    [response("a"), response("b")],
    [response("a"), response("b"), response("c")],
    [response("a"), response("b"), response("c")],
  ];
  const client = fakeClient({
    async askAll(request) {
      assert.equal(request.minResponses, 1);
      return [response("a")];
    },
    async awaitResponses(_, messageId, waitSeconds, minResponses) {
      assert.equal(messageId, "msg_q");
      waits.push([Math.round(waitSeconds), minResponses]);
      return pages[waits.length - 1]!;
    },
  });
  const came = [];
  for await (const { id } of client.askAllIter("chan_1", "role:x", {}, { timeout: 10 })) {
    came.push(id);
  }
  assert.deepEqual(came, ["a", "b", "c"]);
  assert.deepEqual(waits, [
    [11, 2],
    [11, 3],
    [11, 4],
  ]);
});

test("the iterator ends when enough responses came, and when nobody answered", async () => {
  const client = fakeClient({ askAll: async ({ to }) => (to === "role:x" ? [response("a"), response("b")] : []) });
  const came = [];
  for await (const { id } of client.askAllIter("chan_1", "role:x", {}, { minResponses: 1 })) {
    came.push(id);
  }
  for await (const { id } of client.askAllIter("chan_1", "role:nobody", {})) {
    came.push(id);
  }
  assert.deepEqual(came, ["a"]);
});

test("the iterator ends when a request has the exact number of answers that it takes", async () => {
  const client = fakeClient({ askAll: async () => [response("a"), response("b")] });
  const cameOf = async (options: AskAllOptions): Promise<string[]> => {
    const came = [];
    for await (const { id } of client.askAllIter("chan_1", "role:x", {}, options)) {
      came.push(id);
    }
    return came;
  };
  assert.deepEqual(await cameOf({ collect: "one" }), ["a"]);
  assert.deepEqual(await cameOf({ collect: { quorum: 2 } }), ["a", "b"]);
  assert.deepEqual(await cameOf({ collect: { quorum: 2 }, minResponses: 1 }), ["a"]);
});

test("a resumed question tells a closed channel from a wait that ran out", async () => {
  const expiresAt = new Date(5_000);
  const resume = (fields: Parameters<typeof channel>[1]): Promise<unknown> =>
    fakeClient({
      awaitResponses: async () => [],
      getChannel: async () => channel("c", fields),
      getMessage: async () => message("msg_q", { messageType: "request", expiresAt }),
      conversation: { listReactions: async () => [] } as unknown as Transport["conversation"],
    }).resumeAsk("chan_1", "msg_q", { timeout: 1 });
  const named = (kind: unknown) => (error: unknown) =>
    error instanceof (kind as typeof MessageTimeoutError) && error.messageId === "msg_q";
  await assert.rejects(resume({}), named(MessageTimeoutError));
  await assert.rejects(resume({ status: "closed", closedAt: new Date(4_000) }), named(ChannelClosedError));
  await assert.rejects(resume({ status: "closed", closedAt: new Date(6_000) }), named(MessageTimeoutError));
});

test("a resumed question says that it was declined, with the note of whom it was for, or withdrawn", async () => {
  const heeded: (boolean | undefined)[] = [];
  const no = { agentId: "bob", isHuman: false, signal: "declined", createdAt: new Date(0) };
  const resume = (reactions: object[], fields: Partial<ReturnType<typeof message>> = {}, status: "open" | "closed" = "open") =>
    fakeClient({
      async awaitResponses(_channel, _message, _wait, _wanted, _attempt, heedsNo) {
        heeded.push(heedsNo);
        return [];
      },
      getChannel: async () => channel("c", { status, closedAt: status === "closed" ? new Date(1_000) : null }),
      getMessage: async () => message("msg_q", { messageType: "request", to: "bob", ...fields }),
      conversation: { listReactions: async () => reactions } as unknown as Transport["conversation"],
    }).resumeAsk("chan_1", "msg_q", { timeout: 1 });
  const refusal = { constructor: DeclinedError, code: "FAILED_PRECONDITION", reason: "DECLINED", messageId: "msg_q" };
  await assert.rejects(resume([{ ...no, note: "I only write" }]), { ...refusal, note: "I only write" });
  await assert.rejects(resume([{ ...no, note: null }]), { ...refusal, note: null });
  await assert.rejects(resume([{ ...no, agentId: "eve" }]), MessageTimeoutError, "somebody else's no is none");
  await assert.rejects(resume([{ ...no, signal: "seen" }]), MessageTimeoutError);
  await assert.rejects(resume([{ ...no, note: "late" }], {}, "closed"), ChannelClosedError);
  await assert.rejects(resume([], { deletedAt: new Date(1) }), { constructor: MessageDeletedError, reason: "MESSAGE_DELETED", messageId: "msg_q" });
  assert.ok(heeded.every(Boolean), "the wait ends at a no");
});

test("a resumed question waits longer than the server does in one call, and its errors name it", async () => {
  const clock = new FakeClock();
  const waits: number[] = [];
  const client = fakeClient(
    {
      async awaitResponses(_channel, _message, waitSeconds) {
        waits.push(waitSeconds);
        clock.time += waitSeconds * 1000;
        return waits.length === 3 ? [response("a")] : [];
      },
    },
    clock,
  );
  assert.equal((await client.resumeAsk("chan_1", "msg_q", { timeout: 1500 })).id, "a");
  assert.deepEqual(waits, [600, 600, 300]);

  const refusing = fakeClient({
    async awaitResponses() {
      throw errorFrom({ code: "PERMISSION_DENIED", reason: "NOT_THE_ASKER", message: "no", metadata: { more: "x" } });
    },
  });
  await assert.rejects(refusing.resumeAsk("chan_1", "msg_q"), { messageId: "msg_q", reason: "NOT_THE_ASKER" });
});

test("min_responses must be a count", async () => {
  await assert.rejects(fakeClient({}).askAll("chan_1", "x", {}, { minResponses: 0 }), { code: "INVALID_ARGUMENT" });
});
