import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer } from "@openintent/channels/testing";
import { dataAgent } from "./data-agent.js";

test("the data agent answers requests, and nothing else", async (t) => {
  const server = await startServer(t);
  const leaving = new AbortController();
  const agent = dataAgent(server.options);
  const running = agent.run({ signal: leaving.signal });
  await agent.started();

  const client = server.client("research-agent");
  const intent = await client.intents.open("Research Q1 financials");
  const channel = await client.channels.open("data-clarification", intent.id);
  const { payload } = await channel.ask("data-agent", { question: "Which schema?" });
  assert.equal(payload["answer"], "v2.3");
  await channel.broadcast({ status: "starting analysis" });
  await server.assertNotSaid(intent, { sender: "data-agent", messageType: (type) => type !== "response" });

  leaving.abort();
  await running;
});
