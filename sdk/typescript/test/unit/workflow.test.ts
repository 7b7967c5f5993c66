import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, InvalidArgumentError, loadWorkflow } from "../../src/index.js";

const content = `
version: "1.0"
intent:
  title: "Research Q1 Financials"
channels:
  data-clarification:
    members: [research-agent, data-agent]
    member_policy: explicit
    audit: true
    ttl_seconds: 60
    turn_budget: 0
    conversation_budget: 30
    task_id: task_1
  progress:
  again:
    <<: {audit: true}
agents:
  research-agent:
    on_message:
      - channel: progress
        handler: logProgress
      - handler: others
  data-agent:
    role: {of: another tool}
`;

function withFile<T>(text: string, body: (path: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "openintent-"));
  const path = join(folder, "workflow.yaml");
  writeFileSync(path, text);
  return body(path).finally(() => rmSync(folder, { recursive: true }));
}

test("channels and handlers are read, and the rest is ignored", async () => {
  const { channels, agents } = await withFile(content, loadWorkflow);
  assert.deepEqual(channels["data-clarification"], {
    members: ["research-agent", "data-agent"],
    memberPolicy: "explicit",
    audit: true,
    ttlSeconds: 60,
    maxMessages: null,
    history: "all",
    turnBudget: 0,
    conversationBudget: 30,
    taskId: "task_1",
  });
  assert.equal(channels["again"]?.audit, true);
  assert.deepEqual(channels["progress"], {
    members: [],
    memberPolicy: "intent",
    audit: false,
    ttlSeconds: null,
    maxMessages: null,
    history: "all",
    turnBudget: null,
    conversationBudget: null,
    taskId: null,
  });
  assert.deepEqual(agents["research-agent"]?.onMessage, [
    { channel: "progress", handler: "logProgress" },
    { channel: null, handler: "others" },
  ]);
  assert.deepEqual(agents["data-agent"], { onMessage: [] });
  const other = await withFile('openintent: "1.0"\ninfo: {name: x}\nworkflow: {}\n', loadWorkflow);
  assert.deepEqual(other, { channels: {}, agents: {} });
});

test("errors say what is wrong, and where", async () => {
  const mistakes: [string, string][] = [
    ["channels: [a]", "channels"],
    ["channels: {c: {member_policy: secret}}", "channels.c.member_policy"],
    ["channels: {c: {members: [1]}}", "channels.c.members[0]"],
    ["channels: {c: {ttl_seconds: -1}}", "channels.c.ttl_seconds"],
    ["channels: {c: {tll_seconds: 1}}", "channels.c.tll_seconds"],
    ["agents: {a: {on_message: [{handler: h, chanel: c}]}}", "agents.a.on_message[0].chanel"],
    ["agents: {a: {on_message: [{channel: c}]}}", "agents.a.on_message[0].handler"],
    ["- 1", "the file"],
  ];
  for (const [text, place] of mistakes) {
    await assert.rejects(
      withFile(text, loadWorkflow),
      (error) => error instanceof InvalidArgumentError && error.violations[0]?.field === place,
      place,
    );
  }
  await assert.rejects(withFile("a: [", loadWorkflow), /line 1/);
});

test("an agent is bound to the handlers that the file names", async () => {
  const told: string[] = [];
  class Research {
    logProgress(): void {
      told.push("progress");
    }
    others(): void {
      told.push("others");
    }
  }
  await withFile(content, async (path) => {
    const agent = await Agent.fromWorkflow(path, "research-agent", new Research());
    assert.equal(agent.id, "research-agent");
    const map = new Map<string, () => void>([
      ["logProgress", () => {}],
      ["others", () => {}],
    ]);
    await Agent.fromWorkflow(path, "research-agent", map);
    await assert.rejects(Agent.fromWorkflow(path, "research-agent", { others() {} }), /"logProgress"/);
    await assert.rejects(Agent.fromWorkflow(path, "nobody", {}), /"nobody"/);
  });
});
