import assert from "node:assert/strict";
import { test } from "node:test";
import { checkBounds } from "../../src/bounds.js";
import { InvalidArgumentError } from "../../src/errors.js";
import { Agent, OpenIntentClient } from "../../src/index.js";
import { fakeClient } from "./fakes.js";

test("what is out of bounds is refused before it is sent", async () => {
  const client = fakeClient({}); // It may send nothing.
  const long = (length: number): string => "\u{1f600}".repeat(length);
  const refusals: [Promise<unknown>, string][] = [
    [client.sendMessage("c", {}, { subject: long(201) }), "subject has 201 characters; use 1 to 200."],
    [client.sendMessage("c", {}, { subject: "" }), "subject has 0 characters; use 1 to 200."],
    [client.sendMessage("c", {}, { to: long(262) }), "to has 262 characters; use 0 to 261."],
    [client.replyTo("c", "m", {}, { kind: long(65) }), "kind has 65 characters; use 1 to 64."],
    [client.ask("c", "b", {}, { kind: long(65) }), "kind has 65 characters; use 1 to 64."],
    [client.intents.create(long(1025)), "title has 1025 characters; use 1 to 1024."],
    [client.channels.open("a/b", "i"), "name may not contain a slash."],
    [client.channels.open(" ", "i"), "name must hold at least one character that is not white space."],
    [client.createChannel("i", "a\nb"), "name may not contain control characters."],
    [client.createChannel("i", "_system"), "name is the name of the server's own channel; choose another name."],
  ];
  for (const [call, message] of refusals) {
    await assert.rejects(call, { constructor: InvalidArgumentError, reason: "INVALID_FIELD", message });
  }
  checkBounds("SendMessageRequest", { subject: long(200), to: long(261), kind: undefined });
});

test("an agent's id is checked when the client is made", () => {
  for (const [id, says] of [
    ["a/b", "may not contain a slash"],
    ["\u00e4", "must consist of printable ASCII characters"],
    ["a\nb", "must consist of printable ASCII characters"],
    ["a".repeat(257), "has 257 characters; use 1 to 256"],
    ["operator", 'cannot be "operator", which is reserved'],
    ["role:data", 'cannot be "role:data", which is reserved'],
  ] as const) {
    const refused = (setting: string) => (error: unknown): boolean =>
      error instanceof InvalidArgumentError && error.message.startsWith(`${setting} ${says}`);
    assert.throws(() => new OpenIntentClient({ agentId: id }), refused("agentId"));
    assert.throws(() => new Agent({ id }), refused("id"));
    const before = process.env["OPENINTENT_AGENT_ID"];
    process.env["OPENINTENT_AGENT_ID"] = id;
    try {
      assert.throws(() => new OpenIntentClient(), refused("OPENINTENT_AGENT_ID"));
    } finally {
      delete process.env["OPENINTENT_AGENT_ID"];
      if (before !== undefined) {
        process.env["OPENINTENT_AGENT_ID"] = before;
      }
    }
  }
  assert.ok(new OpenIntentClient({ agentId: "a".repeat(256) }));
});
