import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { test } from "node:test";
import type { Client } from "../../src/client.js";
import { UnavailableError } from "../../src/errors.js";
import { OpenIntentClient } from "../../src/index.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";
import { FailureClock, RecordingLogger, still } from "./fakes.js";
import { listening, refusing } from "./listening.js";

/** The settings with which a server begins a connection of HTTP/2. */
const settings = Buffer.from("000006040000000000000500004000", "hex");

const wrongPort = (reason: string, message: string): object => ({ constructor: UnavailableError, reason, message });

test("a client of gRPC says at once that it met the REST port, and ends nothing else", { timeout: 60_000 }, async () => {
  const rest = createHttpServer((_, response) => {
    response.writeHead(401, { "content-type": "application/problem+json" });
    response.end('{"type":"urn:openintent:error:api_key_missing"}');
  });
  const server = await listening(rest);
  const client = new OpenIntentClient({ server, clock: still });
  const right = "Give the gRPC address (127.0.0.1:50051 by default).";
  const sentence = `${server} does not speak gRPC; it looks like the REST address. ${right}`;
  const calls = [client.getChannel("c"), client.intents.create("t"), client.follow("c").next()];
  await Promise.all(calls.map((call) => assert.rejects(call, wrongPort("NOT_GRPC", sentence))));
  client.close();
  rest.close();
  await once(rest, "close");
});

test("what is neither gRPC nor REST counts as a server that is away", { timeout: 60_000 }, async () => {
  const other = createServer((socket) => socket.on("error", () => {}).write("SSH-2.0-another\r\n"));
  const server = await listening(other);
  const client = new OpenIntentClient({ server });
  await assert.rejects(client.getChannel("c", { timeout: 0.3 }), { constructor: UnavailableError, reason: "" });
  client.close();
  other.close();
});

test("a client of REST says at once that it met the gRPC port", { timeout: 60_000 }, async () => {
  const grpc = createServer((socket) => socket.on("error", () => {}).end(settings));
  const url = `http://${await listening(grpc)}`;
  const client = new RestClient({ url, clock: still });
  const right = "Give the REST address (http://127.0.0.1:8000 by default).";
  const sentence = `${url} does not speak REST; it looks like the gRPC address. ${right}`;
  const calls = [client.getChannel("c"), client.intents.create("t"), client.follow("c").next()];
  await Promise.all(calls.map((call) => assert.rejects(call, wrongPort("NOT_REST", sentence))));
  grpc.close();
});

test("a client of REST passes on what the gRPC port says about itself", { timeout: 60_000 }, async () => {
  const detail = "This port speaks gRPC only; REST is at http://127.0.0.1:8000.";
  const grpc = createHttpServer((_, response) => {
    response.writeHead(400, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ code: "INVALID_ARGUMENT", reason: "NOT_REST", detail }));
  });
  const client = new RestClient({ url: `http://${await listening(grpc)}`, clock: still });
  const calls = [client.getChannel("c"), client.intents.create("t"), client.follow("c").next()];
  await Promise.all(calls.map((call) => assert.rejects(call, wrongPort("NOT_REST", detail))));
  grpc.close();
});

test("a server that nobody started is away, over gRPC and over REST", { timeout: 60_000 }, async () => {
  const { server, close } = await refusing();
  const options = { timeout: 600 };
  const calls: ((client: Client) => Promise<unknown>)[] = [
    (client) => client.getChannel("c", options),
    (client) => client.intents.create("t", options),
    (client) => client.channels.open("c", "i", options),
    (client) => client.closeChannel("c", options),
    (client) => client.ask("c", "to", {}, options),
    (client) => client.sendMessage("c", {}, options),
  ];
  for (const name of [server, `http://${server}`]) {
    const flag = name === server ? "--grpc-addr" : "--http-addr";
    const message =
      `The server at ${name} could not be reached within 600 s: Nobody listens at ${name} (connection refused). ` +
      `Start a server with: openintent serve ${flag} ${server}`;
    const meet = async (call: (client: Client) => Promise<unknown>): Promise<void> => {
      const clock = new FailureClock(200_000);
      const logger = new RecordingLogger();
      const options = { clock, logger, connectTimeout: 600 };
      const client = name === server ? new OpenIntentClient({ server, ...options }) : new RestClient({ url: name, ...options });
      await assert.rejects(call(client), { constructor: UnavailableError, message });
      assert.equal(clock.now(), 600_000, "it was tried again while there was time");
      assert.match(logger.lines.join(), /^warn a client cannot reach the server at .* and keeps trying: Nobody listens at [^,]*$/);
      client.close();
    };
    await Promise.all(calls.map(meet));
  }
  close();
});
