import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";

import type { Contact } from "../src/client/contacts.ts";
import { isOf, kinds, needsCode, shownOf, written } from "../src/pages/agents/contacts.ts";
import { base64url } from "../src/text/base64.ts";

function contact(more: Partial<Contact> = {}): Contact {
  const none = { proved_at: null, failing_since: null, last_problem: null };
  return { contact_id: "cont_1", kind: "web_push", shown: "push.example …abcd", state: "on", created_at: "2026-11-24T12:00:00.000000Z", ...none, ...more };
}

test("a browser knows itself by what the server shows of it", () => {
  assert.equal(shownOf("https://push.example/send/0123abcd"), "push.example …abcd");
  assert.equal(shownOf("https://push.example:8443/a"), "push.example:8443 …");
  assert.ok(isOf(contact(), "https://push.example/send/0123abcd"));
  assert.ok(!isOf(contact(), "https://push.example/send/0123abce"));
  assert.ok(!isOf(contact({ kind: "webhook" }), "https://push.example/send/0123abcd"));
  assert.ok(!isOf(contact(), undefined));
});

test("whatever is not on waits for a code", () => {
  assert.deepEqual((["unproved", "on", "off", "paused"] as const).map((state) => needsCode(contact({ state }))), [true, false, true, true]);
});

test("each way that somebody writes says what its address is", () => {
  for (const kind of written) {
    assert.ok(kinds[kind].address && kinds[kind].example && kinds[kind].hint, kind);
  }
});

test("a key is written as the server writes it", () => {
  assert.equal(base64url(Uint8Array.of(251, 255, 254, 0).buffer), "-__-AA");
});

interface Shown {
  title: string;
  options: { body: string; tag: string; data: { url: unknown } };
}

/** The worker with the world of a browser around it. */
function worker() {
  const listeners = new Map<string, (event: unknown) => void>();
  const shown: Shown[] = [];
  const told: unknown[] = [];
  const opened: string[] = [];
  const pages: { postMessage(said: unknown): void; focus(): Promise<void> }[] = [];
  const self = {
    addEventListener: (name: string, listener: (event: unknown) => void) => listeners.set(name, listener),
    registration: { scope: "https://openintent.example/console/", showNotification: async (title: string, options: Shown["options"]) => void shown.push({ title, options }) },
    clients: { matchAll: async () => pages, openWindow: async (address: string) => void opened.push(address) },
  };
  runInContext(readFileSync("public/push.js", "utf8"), createContext({ self, URL }));
  async function happens(name: string, event: object) {
    let done: Promise<void> | undefined;
    listeners.get(name)?.({ ...event, waitUntil: (promise: Promise<void>) => (done = promise) });
    await done;
  }
  return {
    names: [...listeners.keys()],
    shown,
    told,
    opened,
    openPage: (focus: () => Promise<void>) => pages.push({ postMessage: (said) => told.push(structuredClone(said)), focus }),
    push: (said: unknown) => happens("push", { data: { json: () => JSON.parse(typeof said === "string" ? said : JSON.stringify(said)) as unknown } }),
    click: (url: unknown) => happens("notificationclick", { notification: { close() {}, data: { url } } }),
  };
}

test("the worker shows what is pushed, and answers no requests", async () => {
  const it = worker();
  assert.deepEqual(it.names, ["push", "notificationclick"]);
  await it.push({ title: "A question waits for you", body: "alice waits for an answer of anna.", url: "https://openintent.example/console/messages/msg_1" });
  assert.equal(it.shown[0]?.title, "A question waits for you");
  assert.equal(it.shown[0]?.options.body, "alice waits for an answer of anna.");
  await it.push("no JSON");
  assert.equal(it.shown[1]?.title, "Something waits for you", "a browser wants a notification for each push");
});

test("a code goes to the pages that are open", async () => {
  const it = worker();
  it.openPage(async () => {});
  await it.push({ title: "Your code for openintent", body: "The code is 12345678.", url: "", code: "12345678" });
  assert.deepEqual(it.told, [{ code: "12345678" }]);
  assert.equal(it.shown.length, 1);
});

test("a click opens the console at the message, and never another site", async () => {
  for (const [url, opened] of [
    ["https://openintent.example/console/messages/msg_1", "https://openintent.example/console/messages/msg_1"],
    ["http://127.0.0.1:8000/console/messages/msg_1", "https://openintent.example/console/messages/msg_1"],
    ["https://elsewhere.example/", "https://openintent.example/console"],
    ["https://elsewhere.example/console/messages/../../x", "https://openintent.example/console"],
    ["javascript:alert(1)", "https://openintent.example/console"],
    [undefined, "https://openintent.example/console"],
  ]) {
    const it = worker();
    await it.click(url);
    assert.deepEqual(it.opened, [opened], String(url));
  }
  const it = worker();
  it.openPage(() => Promise.reject(new Error("not allowed")));
  await it.click("https://openintent.example/console/messages/msg_1");
  assert.deepEqual(it.opened, []);
  assert.deepEqual(it.told, [{ open: "https://openintent.example/console/messages/msg_1" }]);
});
