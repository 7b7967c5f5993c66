import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";
import { test } from "node:test";
import { UnavailableError } from "../../src/errors.js";
import { OpenIntentClient } from "../../src/index.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";

/** The settings with which a server begins a connection of HTTP/2. */
const settings = Buffer.from("000006040000000000000500004000", "hex");

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const wrongPort = (reason: string, message: string): object => ({ constructor: UnavailableError, reason, message });

test("a client of gRPC says at once that it met the REST port, and ends nothing else", { timeout: 20_000 }, async () => {
  const rest = createHttpServer((_, response) => {
    response.writeHead(401, { "content-type": "application/problem+json" });
    response.end('{"type":"urn:openintent:error:api_key_missing"}');
  });
  const server = await listening(rest);
  const client = new OpenIntentClient({ server });
  const right = "Give the gRPC address (127.0.0.1:50051 by default).";
  const sentence = `${server} does not speak gRPC; it looks like the REST address. ${right}`;
  const calls = [client.getChannel("c"), client.intents.create("t"), client.follow("c").next()];
  await Promise.all(calls.map((call) => assert.rejects(call, wrongPort("NOT_GRPC", sentence))));
  client.close();
  rest.close();
  await once(rest, "close");
});

test("what is neither gRPC nor REST counts as a server that is away", { timeout: 20_000 }, async () => {
  const other = createServer((socket) => socket.on("error", () => {}).write("SSH-2.0-another\r\n"));
  const server = await listening(other);
  const client = new OpenIntentClient({ server });
  await assert.rejects(client.getChannel("c", { timeout: 0.3 }), { constructor: UnavailableError, reason: "" });
  client.close();
  other.close();
});

test("a client of REST says at once that it met the gRPC port", { timeout: 20_000 }, async () => {
  const grpc = createServer((socket) => socket.on("error", () => {}).end(settings));
  const url = `http://${await listening(grpc)}`;
  const client = new RestClient({ url });
  const right = "Give the REST address (http://127.0.0.1:8000 by default).";
  const sentence = `${url} does not speak REST; it looks like the gRPC address. ${right}`;
  const calls = [client.getChannel("c"), client.intents.create("t"), client.follow("c").next()];
  await Promise.all(calls.map((call) => assert.rejects(call, wrongPort("NOT_REST", sentence))));
  grpc.close();
});

test("a client of REST passes on what the gRPC port says about itself", { timeout: 20_000 }, async () => {
  const detail = "This port speaks gRPC only; REST is at http://127.0.0.1:8000.";
  const grpc = createHttpServer((_, response) => {
    response.writeHead(400, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ code: "INVALID_ARGUMENT", reason: "NOT_REST", detail }));
  });
  const client = new RestClient({ url: `http://${await listening(grpc)}` });
  const calls = [client.getChannel("c"), client.intents.create("t"), client.follow("c").next()];
  await Promise.all(calls.map((call) => assert.rejects(call, wrongPort("NOT_REST", detail))));
  grpc.close();
});

test("a server that nobody started is away, over gRPC and over REST", { timeout: 20_000 }, async () => {
  const gone = createServer();
  const server = await listening(gone);
  gone.close();
  await once(gone, "close");
  const [grpc, rest] = [new OpenIntentClient({ server }), new RestClient({ url: `http://${server}` })];
  for (const client of [grpc, rest]) {
    const name = client === grpc ? server : `http://${server}`;
    const message = new RegExp(`^The server at ${name} could not be reached within 2 s: .*ECONNREFUSED`);
    const options = { timeout: 2 };
    const calls = [
      client.getChannel("c", options),
      client.intents.create("t", options),
      client.channels.open("c", "i", options),
      client.closeChannel("c", options),
      client.ask("c", "to", {}, options),
      client.sendMessage("c", {}, options),
    ];
    await Promise.all(calls.map((call) => assert.rejects(call, { constructor: UnavailableError, message })));
  }
  grpc.close();
});
