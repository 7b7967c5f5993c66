import assert from "node:assert/strict";
import { test } from "node:test";

import { message } from "./helper.ts";

// The module speaks to the server, for which it needs a page.
let answer: () => Response;
Object.assign(globalThis, {
  document: { baseURI: "http://localhost/console/" },
  window: new EventTarget(),
  fetch: async () => answer(),
});
const { listMessages } = await import("../src/client/messages.ts");

const page = (messages: unknown[], link?: string): Response => new Response(JSON.stringify(messages), link === undefined ? {} : { headers: { Link: link } });

test("a page of the newest messages says whether there may be older ones", async () => {
  const older = async () => (await listMessages("chan_1", { limit: 3 })).older;
  answer = () => page([]);
  assert.equal(await older(), false);
  answer = () => page([message(), message()], '</v1/channels/chan_1/messages?limit=3&since=msg_2>; rel="next"');
  assert.equal(await older(), false);
  answer = () => page([message(), message(), message()]);
  assert.equal(await older(), true, "it is full");
  answer = () => page([message(), message({ payload: { text: "x".repeat(600_000) } })]);
  assert.equal(await older(), true, "it may have ended because its texts are long");
  answer = () => page([], '</v1/channels/chan_1/messages?limit=3&since=1970-01-01T00%3A00%3A00Z>; rel="first"');
  assert.equal(await older(), true, "the server has looked at many messages");
  answer = () => page([message(), message(), message()]);
  assert.equal((await listMessages("chan_1", { since: "msg_1", limit: 3 })).older, false);
});

test("a page says whether more may follow", async () => {
  answer = () => page([message()], '</v1/channels/chan_1/messages?since=msg_2>; rel="next"');
  assert.equal((await listMessages("chan_1", { since: "msg_1", limit: 1 })).more, true);
  answer = () => page([]);
  assert.equal((await listMessages("chan_1", { since: "msg_2", limit: 1 })).more, false);
});
