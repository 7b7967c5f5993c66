import assert from "node:assert/strict";
import { test } from "node:test";
import { errorFrom, LeaseLostError, UnavailableError } from "../../src/errors.js";
import type { Transport } from "../../src/transport.js";
import { FakeClock, fakeClient } from "./fakes.js";

const gone = () => errorFrom({ code: "NOT_FOUND", reason: "LEASE_NOT_FOUND", message: "There is no such lease." });

/** A transport that grants a lease, keeps what it is asked, and answers renewals as told. */
function leasing(renew: () => Promise<void> = async () => {}): { asked: string[]; methods: Partial<Transport> } {
  const asked: string[] = [];
  return {
    asked,
    methods: {
      async acquireLease({ scope, durationSeconds, waitSeconds }) {
        asked.push(`acquire ${scope} ${durationSeconds} ${waitSeconds}`);
        return { id: "l1", fence: 7 };
      },
      async renewLease(_intent, id) {
        asked.push(`renew ${id}`);
        await renew();
      },
      async releaseLease(_intent, id) {
        asked.push(`release ${id}`);
      },
    },
  };
}

test("a lease is held while the work runs, and released after it, also when the work fails", async () => {
  const { asked, methods } = leasing();
  const client = fakeClient(methods);
  assert.equal(await client.withLease("i", "parser", (lease) => lease.fence, { waitSeconds: 5 }), 7);
  assert.equal(asked[0], "acquire parser 60 5");
  assert.equal(asked.at(-1), "release l1");
  await assert.rejects(client.withLease("i", "parser", () => Promise.reject(new RangeError("mine"))), RangeError);
  assert.equal(asked.at(-1), "release l1");
});

test("a lease renews itself after each third of its duration", async () => {
  const clock = new FakeClock();
  const times: number[] = [];
  let enough = (): void => {};
  const done = new Promise<void>((resolve) => (enough = resolve));
  const { methods } = leasing(async () => {
    times.push(clock.now());
    if (times.length === 3) {
      enough();
    }
  });
  await fakeClient(methods, clock).withLease("i", "parser", () => done);
  assert.deepEqual(times.slice(0, 3), [20_000, 40_000, 60_000]);
});

test("the signal of a lost lease aborts, and the work's result does not count", async () => {
  const { asked, methods } = leasing(() => Promise.reject(gone()));
  let reason: unknown;
  const work = fakeClient(methods).withLease("i", "parser", ({ signal }) => {
    return new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => {
        reason = signal.reason;
        resolve();
      }),
    );
  });
  await assert.rejects(work, (error) => error instanceof LeaseLostError && error === reason);
  assert.deepEqual(asked, ["acquire parser 60 0", "renew l1", "release l1"]);
});

test("a lease that cannot be renewed before it may be over is lost", async () => {
  const clock = new FakeClock();
  const { methods } = leasing(() => Promise.reject(errorFrom({ code: "UNAVAILABLE", message: "away" })));
  let lostAt = 0;
  const work = fakeClient(methods, clock).withLease("i", "parser", ({ signal }) => {
    return new Promise<void>((_, reject) =>
      signal.addEventListener("abort", () => {
        lostAt = clock.now();
        reject(signal.reason);
      }),
    );
  });
  await assert.rejects(work, LeaseLostError);
  assert.ok(lostAt > 20_000 && lostAt <= 60_000, String(lostAt));
});

test("a lease is not asked for again when it may have been granted", async () => {
  let asked = 0;
  const client = fakeClient({
    async acquireLease() {
      asked++;
      throw errorFrom({ code: "UNAVAILABLE", reason: "OUTCOME_UNKNOWN", message: "lost" });
    },
  });
  await assert.rejects(client.withLease("i", "parser", () => {}), UnavailableError);
  assert.equal(asked, 1);
});
