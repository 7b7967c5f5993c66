import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { OpenIntentClient } from "../../src/index.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";

const closed = { name: "OpenIntentError", code: "CANCELLED" };

test("calls over gRPC end when the client is closed, and none begins after that", { timeout: 60_000 }, async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const client = new OpenIntentClient({ server: `127.0.0.1:${(silent.address() as AddressInfo).port}` });
  const connected = once(silent, "connection");
  const [call, next] = [client.getChannel("c"), client.follow("c").next()];
  const ends = [assert.rejects(call, closed), assert.rejects(next, closed)];
  const [socket] = await connected;
  client.close();
  await Promise.all(ends);
  await assert.rejects(client.getChannel("c"), closed);
  await assert.rejects(client.follow("c").next(), closed);
  socket.destroy();
  silent.close();
});

test("calls over REST end when the client is closed, and none begins after that", { timeout: 60_000 }, async () => {
  const fetch = (_url: string, { signal }: RequestInit): Promise<Response> =>
    new Promise((_, reject) => {
      signal!.throwIfAborted();
      signal!.addEventListener("abort", () => reject(signal!.reason));
    });
  const client = new RestClient({ url: "http://127.0.0.1:9", fetch });
  const ends = [assert.rejects(client.getChannel("c"), closed), assert.rejects(client.follow("c").next(), closed)];
  client.close();
  await Promise.all(ends);
  await assert.rejects(client.getChannel("c"), closed);
});
