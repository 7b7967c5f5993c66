// The load of the TypeScript SDK.
//
// Usage: ask.mjs PACKAGE answer|ask SERVER KEY CHANNEL RESPONDER
//
// PACKAGE is the compiled package's entry. The rest is as in ask.py.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [entry, part, server, apiKey, channel, responder] = process.argv.slice(2);
const { Agent, OpenIntentClient } = await import(pathToFileURL(entry).href);

const payload = { question: "what schema version does the dataset use? ".repeat(11), attempt: 1 };
const concurrency = 64;

const tell = (told) => console.log(JSON.stringify(told));

async function answer() {
  const agent = new Agent({ id: responder, server, apiKey, concurrency });
  agent.onMessage(() => payload);
  const leaving = new AbortController();
  process.stdin.resume().once("end", () => leaving.abort());
  const running = agent.run({ signal: leaving.signal });
  await agent.started();
  tell({ Ready: true });
  await running;
}

async function measure(client, { Callers, Seconds }) {
  await client.ask(channel, responder, payload); // the first connects
  const took = [];
  const started = performance.now();
  const until = started + 1000 * Seconds;
  const caller = async () => {
    for (let before; (before = performance.now()) < until; ) {
      await client.ask(channel, responder, payload);
      took.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: Callers }, caller));
  const elapsed = performance.now() - started;
  took.sort((a, b) => a - b);
  return {
    PerSecond: (1000 * took.length) / elapsed,
    Median: Math.round(1e6 * took[Math.floor(took.length / 2)]),
    Slow: Math.round(1e6 * took[Math.floor((took.length * 99) / 100)]),
  };
}

async function ask() {
  const client = new OpenIntentClient({ agentId: "bench-asker", server, apiKey });
  for await (const line of createInterface({ input: process.stdin })) {
    tell(await measure(client, JSON.parse(line)).catch((error) => ({ Error: `${error}` })));
  }
  client.close();
}

await (part === "answer" ? answer() : ask());
