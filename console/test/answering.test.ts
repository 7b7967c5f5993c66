import assert from "node:assert/strict";
import { test } from "node:test";

import type { Answerable } from "../src/client/answering.ts";

Object.assign(globalThis, { document: { baseURI: "http://127.0.0.1:8000/console/" } });
const { answer } = await import("../src/client/answering.ts");

/** calls answers a request where a server gives the fence, and returns the calls with their bodies. */
async function calls(request: Partial<Answerable>, fence?: number): Promise<string[]> {
  const made: string[] = [];
  Object.assign(globalThis, {
    fetch: async (url: URL, { method, body }: RequestInit) => {
      const path = url.pathname.split("/").at(-1) ?? "";
      made.push(`${method} ${path}${path === "reply" ? ` ${String(body)}` : ""}`);
      const answers: Record<string, unknown> = { attention: { claim: fence === undefined ? null : { fence } }, claim: { fence: 7 } };
      return new Response(JSON.stringify(answers[path] ?? {}));
    },
  });
  await answer({ id: "msg_1", channel_id: "chan_1", to: "role:reviewer", ...request }, { text: "Yes." }, "key");
  return made;
}

test("a request that takes an exact number of answers from a role is claimed first", async () => {
  const claimed = ["GET attention", "POST claim", 'POST reply {"payload":{"text":"Yes."},"fence":7}'];
  assert.deepEqual(await calls({ collect: "one" }), claimed);
  assert.deepEqual(await calls({ collect: { quorum: 2 } }), claimed);
});

test("whoever has claimed it already answers under that claim", async () => {
  assert.deepEqual(await calls({ collect: "one" }, 3), ["GET attention", 'POST reply {"payload":{"text":"Yes."},"fence":3}']);
});

test("every other request is answered without a claim", async () => {
  const plain = ['POST reply {"payload":{"text":"Yes."}}'];
  assert.deepEqual(await calls({}), plain);
  assert.deepEqual(await calls({ collect: "all" }), plain);
  assert.deepEqual(await calls({ to: "bob", collect: "one" }), plain);
  assert.deepEqual(await calls({ to: null, collect: "one" }), plain);
});
