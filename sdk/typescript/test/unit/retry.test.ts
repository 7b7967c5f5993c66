import assert from "node:assert/strict";
import { test } from "node:test";
import { errorFrom, MessageTimeoutError, UnavailableError, type Failure } from "../../src/errors.js";
import { backoff, newKey, withRetry } from "../../src/retry.js";
import { fakeClient, FakeClock, lost, message } from "./fakes.js";

const failure = (fields: Partial<Failure>): Error => errorFrom({ code: "UNAVAILABLE", message: "no", ...fields });

test("waits double from 100 ms to 5 s, each between half and the whole", () => {
  const clock = new FakeClock();
  clock.random = () => 0;
  assert.deepEqual(
    [1, 2, 3, 6, 7, 100].map((n) => backoff(clock, n)),
    [50, 100, 200, 1600, 2500, 2500],
  );
  clock.random = () => 1 - Number.EPSILON;
  assert.deepEqual(
    [1, 2, 3, 6, 7, 100].map((n) => Math.round(backoff(clock, n))),
    [100, 200, 400, 3200, 5000, 5000],
  );
  assert.equal(backoff(clock, 1, errorFrom({ code: "UNAVAILABLE", message: "", retryDelayMs: 1500 })), 1500);
});

test("a call is tried again after UNAVAILABLE, and after ABORTED without a reason", async () => {
  const failures = [failure({}), failure({ reason: "WRITE_QUEUE_FULL", retryDelayMs: 900 }), failure({ code: "ABORTED" })];
  const clock = new FakeClock();
  const given = await withRetry(clock, {}, async (_, before) => {
    if (failures[before]) {
      throw failures[before];
    }
    return before;
  });
  assert.equal(given, 3);
  assert.deepEqual(clock.waits, [75, 900, 300]);
});

test("other failures are thrown at once", async () => {
  for (const fields of [
    { code: "ABORTED", reason: "VERSION_MISMATCH" },
    { code: "NOT_FOUND" },
    { code: "INTERNAL" },
  ] as const) {
    let calls = 0;
    await assert.rejects(
      withRetry(new FakeClock(), {}, async () => {
        calls++;
        throw failure(fields);
      }),
      { code: fields.code },
    );
    assert.equal(calls, 1);
  }
});

test("the last failure is thrown after 30 seconds without a deadline, and MessageTimeoutError with one", async () => {
  const clock = new FakeClock();
  const fail = async (): Promise<never> => {
    throw failure({ reason: "DATABASE_UNAVAILABLE", metadata: { message_id: "msg_1" } });
  };
  await assert.rejects(withRetry(clock, {}, fail), (error) => error instanceof UnavailableError);
  assert.ok(clock.time > 25_000 && clock.time <= 30_000, String(clock.time));
  const begun = clock.time;
  await assert.rejects(
    withRetry(clock, { timeout: 2 }, fail),
    (error) => error instanceof MessageTimeoutError && error.messageId === "msg_1",
  );
  assert.ok(clock.time - begun <= 2_000);
});

test("an attempt that hangs ends at the deadline, and a little later when the server itself waits", async () => {
  for (const [waits, expected] of [
    [false, 3_000],
    [true, 8_000],
  ] as const) {
    const clock = new FakeClock();
    const hang = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const call = withRetry(clock, { timeout: 3, waits }, ({ signal, timeoutMs }) => {
      assert.equal(timeoutMs, expected);
      return hang(signal);
    });
    await assert.rejects(call, (error) => error instanceof MessageTimeoutError);
    assert.equal(clock.time, expected);
  }
});

test("a signal gives up a call with its reason, also between attempts", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const call = withRetry(new FakeClock(), { signal: controller.signal }, async (_, before) => {
    if (before === 1) {
      controller.abort(reason);
    }
    throw lost();
  });
  await assert.rejects(call, (error) => error === reason);
});

test("an impossible timeout is refused", async () => {
  for (const timeout of [0, -1, NaN, Infinity]) {
    await assert.rejects(
      withRetry(new FakeClock(), { timeout }, async () => 1),
      { code: "INVALID_ARGUMENT" },
    );
  }
});

test("every attempt at a send carries the same key, and each send a different one", async () => {
  const keys: string[] = [];
  const client = fakeClient({
    async sendMessage(request) {
      keys.push(request.idempotencyKey);
      if (keys.length === 1) {
        throw lost();
      }
      return message("msg_1");
    },
  });
  await client.sendMessage("chan_1", { n: 1 });
  await client.sendMessage("chan_1", { n: 1 });
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[1], keys[2]);
  assert.match(newKey(), /^sdk-[0-9a-f]{32}$/);
});

test("creating an intent is not repeated", async () => {
  let calls = 0;
  const client = fakeClient({
    async createIntent() {
      calls++;
      throw lost();
    },
  });
  await assert.rejects(client.intents.create("t"), { code: "UNAVAILABLE" });
  assert.equal(calls, 1);
});
