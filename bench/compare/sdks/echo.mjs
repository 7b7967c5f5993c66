// The floor of the TypeScript SDK: the calls of an ask by Connect alone, without the SDK.
//
// Usage: echo.mjs PACKAGE answer|ask SERVER KEY CHANNEL RESPONDER
//
// PACKAGE is the compiled package's entry, beside which the generated messages and Connect are. The rest is as in echo.py.

import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [entry, part, server, , channelId, responder] = process.argv.slice(2);
const from = (...path) => import(pathToFileURL(join(dirname(entry), ...path)).href);
const { createClient } = await from("../node_modules/@connectrpc/connect/dist/esm/index.js");
const { createGrpcTransport, Http2SessionManager } = await from("../node_modules/@connectrpc/connect-node/dist/esm/index.js");
const { MessageService } = await from("generated/openintent/v1/messages_pb.js");

const payload = { question: "what schema version does the dataset use? ".repeat(11), attempt: 1 };
const baseUrl = `http://${server}`;
const sessionManager = new Http2SessionManager(baseUrl);
const client = createClient(MessageService, createGrpcTransport({ baseUrl, sessionManager }));

const tell = (told) => console.log(JSON.stringify(told));

async function answer() {
  const leaving = new AbortController();
  process.stdin.resume().once("end", () => leaving.abort());
  const onHeader = () => tell({ Ready: true });
  const deliveries = client.subscribe({ scope: { case: "channelId", value: channelId } }, { signal: leaving.signal, onHeader });
  try {
    for await (const { message } of deliveries) {
      client.replyMessage({ channelId, messageId: message.id, payload }).catch((error) => console.error(`${error}`));
    }
  } catch (error) {
    if (!leaving.signal.aborted) {
      throw error;
    }
  }
}

async function measure({ Callers, Seconds, Work }) {
  const call =
    Work === "unary"
      ? () => client.sendMessage({ channelId, payload })
      : () => client.ask({ channelId, to: responder, payload });
  await call(); // the first connects
  const took = [];
  const started = performance.now();
  const until = started + 1000 * Seconds;
  const caller = async () => {
    for (let before; (before = performance.now()) < until; ) {
      await call();
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
  for await (const line of createInterface({ input: process.stdin })) {
    tell(await measure(JSON.parse(line)).catch((error) => ({ Error: `${error}` })));
  }
}

await (part === "answer" ? answer() : ask());
sessionManager.abort();
