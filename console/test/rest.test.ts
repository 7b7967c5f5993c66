import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { Rest } from "../src/client/rest.ts";

/** A tab that the test hides and shows. */
class Tab extends EventTarget {
  visibilityState = "visible";

  become(state: "visible" | "hidden") {
    this.visibilityState = state;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

let tab: Tab;
/** Who has the lock, and who waits for it. */
let holders: (() => void)[];

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  tab = new Tab();
  holders = [];
  Object.defineProperty(globalThis, "document", { value: tab, configurable: true });
  const locks = {
    async request(_: string, { signal }: { signal: AbortSignal }, hold: () => Promise<void>) {
      if (holders.length > 0) {
        await new Promise<void>((resolve, reject) => {
          holders.push(resolve);
          signal.addEventListener("abort", () => reject(new Error("aborted")));
        });
      } else {
        holders.push(() => {});
      }
      await hold();
      holders.shift();
      holders[0]?.();
    },
  };
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
});

/** settle lets what waits for promises go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

async function pass(milliseconds: number) {
  mock.timers.tick(milliseconds);
  await settle();
}

test("a tab that is hidden gives its stream up after a while", async () => {
  const lease = await new Rest(false).lease(new AbortController().signal);
  tab.become("hidden");
  await pass(19_000);
  tab.become("visible");
  await pass(60_000);
  assert.equal(lease.signal.aborted, false, "who comes back soon notices nothing");
  tab.become("hidden");
  await pass(20_000);
  assert.equal(lease.signal.aborted, true);
  lease.end();
});

test("a hidden tab begins no stream until somebody looks", async () => {
  tab.visibilityState = "hidden";
  let begun = false;
  const leasing = new Rest(false).lease(new AbortController().signal).then((lease) => {
    begun = true;
    return lease;
  });
  await pass(60_000);
  assert.equal(begun, false);
  tab.become("visible");
  const lease = await leasing;
  assert.equal(lease.signal.aborted, false);
  lease.end();
});

test("one of the hidden tabs keeps watch, and another one when it is seen", async () => {
  tab.visibilityState = "hidden";
  const end = new AbortController();
  const first = await new Rest(true).lease(end.signal);
  let second = false;
  void new Rest(true).lease(end.signal).then(() => (second = true));
  await pass(60_000);
  assert.deepEqual([first.signal.aborted, second], [false, false]);
  first.end();
  await settle();
  assert.equal(second, true);
  end.abort();
});

test("a stream that is not wanted any more waits for nobody", async () => {
  tab.visibilityState = "hidden";
  const end = new AbortController();
  const leasing = new Rest(false).lease(end.signal);
  end.abort();
  assert.equal((await leasing).signal.aborted, true);
});
