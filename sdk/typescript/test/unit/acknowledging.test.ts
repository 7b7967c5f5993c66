import assert from "node:assert/strict";
import { test } from "node:test";
import { Acknowledging } from "../../src/agent/acknowledging.js";
import type { AgentServer } from "../../src/agent/server.js";
import type { Clock } from "../../src/clock.js";
import { errorFrom } from "../../src/errors.js";
import { FakeClock, still } from "./fakes.js";

/** An Acknowledging that does not wait once it has four deliveries, with the calls that it makes. `again` comes again. */
function acknowledging(clock: Clock, again = 0): { done: Acknowledging; calls: number[][] } {
  const calls: number[][] = [];
  const server = {
    acknowledge: async (_id: string, numbers: readonly number[]) => {
      calls.push([...numbers]);
      if (numbers.includes(again)) {
        const metadata = { number: `${again}` };
        throw errorFrom({ code: "ABORTED", reason: "DELIVERY_COMES_AGAIN", message: "It comes again.", metadata });
      }
    },
  } as unknown as AgentServer;
  const failed = (error: unknown): void => assert.fail(String(error));
  return { done: new Acknowledging(server, clock, "sub", 4, new AbortController().signal, failed), calls };
}

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test("few wait for others and are acknowledged together", async () => {
  const clock = new FakeClock();
  const { done, calls } = acknowledging(clock);
  done.done(1);
  done.done(2);
  assert.deepEqual(calls, []);
  while (calls.length === 0) {
    await settled();
  }
  assert.deepEqual(calls, [[1, 2]]);
  assert.deepEqual(clock.waits, [25]);
});

test("many are acknowledged without delay, and the rest when the agent leaves", async () => {
  const { done, calls } = acknowledging(still);
  [1, 2, 3].forEach((number) => done.done(number));
  await settled();
  assert.deepEqual(calls, []);
  done.done(4);
  await settled();
  assert.deepEqual(calls, [[1, 2, 3, 4]]);
  done.done(5);
  await done.flushed();
  assert.deepEqual(calls, [[1, 2, 3, 4], [5]]);
});

test("a delivery that comes again is left out, and the others are acknowledged", async () => {
  const { done, calls } = acknowledging(still, 2);
  [1, 2, 3, 4].forEach((number) => done.done(number));
  await done.flushed();
  assert.deepEqual(calls, [[1, 2, 3, 4], [1, 3, 4]]);
});
