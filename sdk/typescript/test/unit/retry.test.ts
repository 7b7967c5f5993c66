import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { errorFrom, UnavailableError, type Failure, type OpenIntentError } from "../../src/errors.js";
import { backoff, newKey, withRetry, type RetryOptions } from "../../src/retry.js";
import { notConnected } from "../../src/server-away.js";
import type { Attempt } from "../../src/transport.js";
import { Outage } from "../../src/outage.js";
import { fakeClient, FakeClock, lost, message, RecordingLogger, serverName } from "./fakes.js";

/** Makes a call to a server of that name, on a clock. */
function retried<T>(
  clock: FakeClock,
  options: RetryOptions,
  call: (attempt: Attempt, perhapsDone: boolean) => Promise<T>,
): Promise<T> {
  return withRetry({ clock, server: serverName }, options, call);
}

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

test("waits for a server on this machine that refuses connections end at half a second", () => {
  const clock = new FakeClock();
  clock.random = () => 1 - Number.EPSILON;
  const place = { server: "localhost:1", start: "openintent serve" };
  const refused = notConnected("connect ECONNREFUSED", undefined, place);
  assert.deepEqual([1, 2, 3, 4, 100].map((n) => Math.round(backoff(clock, n, refused))), [100, 200, 400, 500, 500]);
  assert.equal(Math.round(backoff(clock, 100, notConnected("ECONNREFUSED"))), 5000, "elsewhere");
});

test("a time to connect bounds a call that gets no connection, and no other", async () => {
  const clock = new FakeClock();
  const call = (error: Error, timeout?: number): Promise<void> =>
    withRetry({ clock, server: serverName, connectTimeout: 3 }, { timeout }, async () => {
      throw error;
    });
  const away = `The server at ${serverName} could not be reached within`;
  await assert.rejects(call(notConnected("no")), { constructor: UnavailableError, message: `${away} 3 s: no` });
  assert.ok(clock.now() <= 3_000);
  await assert.rejects(call(notConnected("no"), 1), { message: `${away} 1 s: no` });
  await assert.rejects(call(lost()), /did not answer within 30 s/);
});

test("nobody starts to listen on this machine, unless somebody was there", async () => {
  const place = { server: serverName, start: "openintent serve" };
  const called = (outage: Outage, error: Error | null, connectTimeout?: number): Promise<void> =>
    withRetry({ clock: new FakeClock(), server: serverName, connectTimeout, outage }, {}, async () => {
      if (error !== null) {
        throw error;
      }
    });
  const refused = notConnected("connect ECONNREFUSED", undefined, place);
  const never = new Outage(serverName, null);
  await assert.rejects(called(never, refused), { message: /could not be reached within 5 s: Nobody listens/ });
  await assert.rejects(called(never, refused, 60), { message: /could not be reached within 30 s/ });
  await assert.rejects(called(never, notConnected("ECONNREFUSED")), { message: /could not be reached within 30 s/ }, "elsewhere");
  await called(never, null);
  await assert.rejects(called(never, refused), { message: /could not be reached within 30 s/ });
  const refusing = new Outage(serverName, null);
  await assert.rejects(called(refusing, errorFrom({ code: "NOT_FOUND", reason: "CHANNEL_NOT_FOUND", message: "no" })));
  await assert.rejects(called(refusing, refused), { message: /could not be reached within 30 s/ });
});

test("an error of a server that is away says everything once", async () => {
  const refused = notConnected("connect ECONNREFUSED", new Error("ECONNREFUSED"), { server: serverName, start: "openintent serve" });
  const thrown: unknown = await retried(new FakeClock(), {}, async () => {
    throw refused;
  }).catch((error: unknown) => error);
  const printed = inspect(thrown);
  assert.equal(printed.split("Nobody listens").length, 2, printed);
  assert.doesNotMatch(printed, /reason|metadata|violations|messageId|retryDelayMs|cause/);
});

test("a client says once that it cannot reach its server, until a call succeeds", async () => {
  const logger = new RecordingLogger();
  const outage = new Outage("h:1", logger);
  const clock = new FakeClock();
  for (const told of [1, 2]) {
    const failures = [lost(), notConnected("no"), notConnected("no")];
    await withRetry({ clock, server: "h:1", outage }, {}, async () => {
      const next = failures.shift();
      if (next) {
        throw next;
      }
    });
    assert.deepEqual(logger.lines, Array(told).fill("warn a client cannot reach the server at h:1 and keeps trying: no"));
  }
});

test("a call is tried again after UNAVAILABLE, and after ABORTED without a reason", async () => {
  const failures = [failure({}), failure({ reason: "WRITE_QUEUE_FULL", retryDelayMs: 900 }), failure({ code: "ABORTED" })];
  const clock = new FakeClock();
  await retried(clock, {}, async () => {
    const next = failures.shift();
    if (next) {
      throw next;
    }
  });
  assert.equal(failures.length, 0);
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
      retried(new FakeClock(), {}, async () => {
        calls++;
        throw failure(fields);
      }),
      { code: fields.code },
    );
    assert.equal(calls, 1);
  }
});

test("a server that is away until the deadline, 30 seconds by default, is an UnavailableError that names it", async () => {
  for (const [timeout, seconds] of [
    [undefined, 30],
    [2, 2],
  ] as const) {
    const clock = new FakeClock();
    let last = 0;
    const fail = async (): Promise<never> => {
      last = clock.time;
      throw notConnected("connect ECONNREFUSED");
    };
    const message = `The server at ${serverName} could not be reached within ${seconds} s: connect ECONNREFUSED`;
    await assert.rejects(retried(clock, { timeout }, fail), { constructor: UnavailableError, message });
    assert.equal(Math.round(last), seconds * 1000 - 100, "the last attempt is made just before the deadline");
  }
});

test("what the server said last, and the message that it named once, stay in the error", async () => {
  const failures = [
    failure({ reason: "DATABASE_UNAVAILABLE", metadata: { message_id: "msg_1" } }),
    failure({ reason: "SERVER_STOPPING", message: "It stops.", retryDelayMs: 1500 }),
  ];
  const call = retried(new FakeClock(), { timeout: 1 }, async () => {
    throw failures.shift() ?? new Error("one attempt too many");
  });
  await assert.rejects(call, {
    constructor: UnavailableError,
    reason: "SERVER_STOPPING",
    messageId: "msg_1",
    message: `The server at ${serverName} was unavailable for 1 s: It stops.`,
  });
});

test("an attempt that hangs ends at the deadline, and a little later when the server itself waits", async () => {
  for (const [waits, expected] of [
    [false, 3_000],
    [true, 8_000],
  ] as const) {
    const clock = new FakeClock();
    const hang = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const call = retried(clock, { timeout: 3, waits }, ({ signal, timeoutMs }) => {
      assert.equal(timeoutMs, expected);
      return hang(signal);
    });
    const message = `The server at ${serverName} did not answer within 3 s: No answer came in time.`;
    await assert.rejects(call, { constructor: UnavailableError, message });
    assert.equal(clock.time, expected);
  }
});

test("an attempt learns whether an earlier one may have been carried out", async () => {
  const failures: [Error, boolean][] = [
    [notConnected("no"), false],
    [failure({ reason: "WRITE_QUEUE_FULL" }), false],
    [failure({ reason: "OUTCOME_UNKNOWN" }), true],
    [notConnected("no"), true],
  ];
  const learnt: boolean[] = [];
  const expected = [false, ...failures.map(([, perhapsDone]) => perhapsDone)];
  await retried(new FakeClock(), {}, async (_, perhapsDone) => {
    learnt.push(perhapsDone);
    const [next] = failures.shift() ?? [];
    if (next) {
      throw next;
    }
  });
  assert.deepEqual(learnt, expected);
});

test("a signal gives up a call with its reason, also between attempts", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  let calls = 0;
  const call = retried(new FakeClock(), { signal: controller.signal }, async () => {
    if (++calls === 2) {
      controller.abort(reason);
    }
    throw lost();
  });
  await assert.rejects(call, (error) => error === reason);
});

test("an impossible timeout is refused", async () => {
  for (const timeout of [0, -1, NaN, Infinity]) {
    await assert.rejects(
      retried(new FakeClock(), { timeout }, async () => 1),
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
  assert.match(newKey(), /^sdk-[0-9a-v]{9}-[0-9a-f]{32}$/);
});

test("creating an intent is repeated until it may have been carried out", async () => {
  const failures: Error[] = [notConnected("no"), failure({ reason: "SERVER_STOPPING" }), lost()];
  const client = fakeClient({
    async createIntent() {
      throw failures.shift() ?? new Error("one attempt too many");
    },
  });
  await assert.rejects(
    client.intents.create("t"),
    (error: OpenIntentError) => error instanceof UnavailableError && error.message.includes(serverName),
  );
  assert.equal(failures.length, 0);
});
