import assert from "node:assert/strict";
import { test } from "node:test";
import { grpcAddress } from "../../src/address.js";
import { InvalidArgumentError } from "../../src/errors.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";
import { settle } from "../../src/settings.js";
import type { AgentRecord } from "../../src/types.js";
import { channel, fakeClient, FakeClock } from "./fakes.js";

const record = (id: string, role: string | null): AgentRecord => ({
  id,
  role,
  name: null,
  status: "active",
  statusNote: null,
  capabilities: [],
  registeredAt: new Date(0),
  lastHeartbeatAt: null,
});

test("roles are gathered from all pages of agents", async () => {
  const cursors: unknown[] = [];
  const pages = [
    { agents: [record("ann", "data"), record("bob", null)], total: 4, nextCursor: "on" },
    { agents: [record("cid", "data"), record("dan", "audit")], total: 4, nextCursor: null },
  ];
  const client = fakeClient({
    async listAgents({ cursor }) {
      cursors.push(cursor);
      return pages[cursors.length - 1]!;
    },
  });
  assert.deepEqual(await client.roles.list(), [
    { id: "audit", agents: ["dan"] },
    { id: "data", agents: ["ann", "cid"] },
  ]);
  assert.deepEqual(cursors, [undefined, "on"]);
});

test("lists are pages with cursors, over REST too", async () => {
  const asked: string[] = [];
  const fetch = async (url: string): Promise<Response> => {
    const { pathname, search } = new URL(url);
    asked.push(pathname + search);
    const agents = [{ agent_id: "ann", role_id: "data", status: "active", registered_at: "2026-01-01T00:00:00Z" }];
    const body = pathname.endsWith("agents") ? { agents, total: 7 } : { intents: [{ id: "i", title: "t", created_at: null }], total: 3 };
    const link = asked.length === 1 ? { link: `<${pathname}?cursor=on&limit=1>; rel="next"` } : undefined;
    return new Response(JSON.stringify(body), link && { headers: link });
  };
  const client = new RestClient({ url: "http://127.0.0.1:1", fetch, apiKey: "k" });
  const intents = await client.intents.list({ status: "active", order: "desc", limit: 1, cursor: "from" });
  assert.deepEqual([intents.intents[0]!.id, intents.total, intents.nextCursor], ["i", 3, "on"]);
  const agents = await client.agents.list({ role: "data", status: "active", capabilities: ["sql", "csv"], limit: 2 });
  assert.deepEqual([agents.agents[0], agents.total, agents.nextCursor], [
    { ...record("ann", "data"), registeredAt: new Date("2026-01-01T00:00:00Z") },
    7,
    null,
  ]);
  assert.deepEqual(asked, [
    "/v1/intents?status=active&order=desc&limit=1&cursor=from",
    "/v1/agents?role_id=data&status=active&capabilities=sql&capabilities=csv&limit=2",
  ]);
});

test("calls without an intent are about the client's own", async () => {
  const asked: string[] = [];
  const before = process.env["OPENINTENT_INTENT_ID"];
  process.env["OPENINTENT_INTENT_ID"] = "mine";
  const client = fakeClient({
    async listChannels(intentId) {
      asked.push(intentId);
      return [channel("desk")];
    },
  });
  assert.equal(settle({ intentId: "given" }, grpcAddress("h:1", false)).intentId, "given");
  if (before === undefined) {
    delete process.env["OPENINTENT_INTENT_ID"];
  }
  assert.equal(client.intentId, "mine");
  await client.channels.open("desk");
  await client.channels.open("desk", "other");
  await client.listChannels();
  assert.deepEqual(asked, ["mine", "other", "mine"]);

  const message = /^intentId is missing: channels.open needs an intent, .* or in OPENINTENT_INTENT_ID\.$/;
  await assert.rejects(fakeClient({}, new FakeClock()).channels.open("desk"), { constructor: InvalidArgumentError, message });
  const wrong = { constructor: InvalidArgumentError, message: "intentId must be the id of an intent, such as intent.id, and no object." };
  await assert.rejects(client.channels.open("desk", { id: "other" } as unknown as string), wrong);
});
