import assert from "node:assert/strict";
import { once } from "node:events";
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Client } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { MessageSchema, MessageService } from "../../src/generated/openintent/v1/messages_pb.js";
import { Sessions } from "../../src/grpc/sessions.js";
import { withDirectCalls } from "../../src/grpc/unary.js";

let server: Http2Server;
let sessions: Sessions;
let client: Client<typeof MessageService>;
/** What the server does with a call. */
let answer: (stream: ServerHttp2Stream) => void;
let asked: Record<string, unknown>;

before(async () => {
  server = createServer();
  server.on("stream", (stream, headers) => {
    asked = headers;
    stream.on("error", () => {});
    answer(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

beforeEach(() => {
  sessions?.abort();
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  sessions = new Sessions(baseUrl, {});
  client = createClient(MessageService, withDirectCalls(createGrpcTransport({ baseUrl, sessionManager: sessions }), sessions));
});

after(() => {
  sessions.abort();
  server.close();
});

const grpc = { ":status": 200, "content-type": "application/grpc" };

function message(): Buffer {
  const bytes = toBinary(MessageSchema, create(MessageSchema, { id: "m1", payload: { text: "x".repeat(100_000) } }));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** Answers in two parts, with this status. */
function say(stream: ServerHttp2Stream, body: Buffer, status: Record<string, string>): void {
  stream.respond(grpc, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(status));
  stream.write(body.subarray(0, 3));
  stream.end(body.subarray(3));
}

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => assert.fail("it must fail"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ConnectError, `${error}`);
  return error;
}

test("an answer that comes in parts is read, and the call says what it must", async () => {
  answer = (stream) => say(stream, message(), { "grpc-status": "0" });
  const came = await client.getMessage({ messageId: "m1" }, { headers: { "x-api-key": "k" }, timeoutMs: 20_000 });
  assert.equal(came.id, "m1");
  const { ":path": path, "content-type": type, te, "grpc-timeout": timeout, "x-api-key": key } = asked;
  assert.deepEqual(
    [path, type, te, timeout, key],
    ["/openintent.v1.MessageService/GetMessage", "application/grpc+proto", "trailers", "20000m", "k"],
  );
});

test("a status in the header or in the trailer is the error", async () => {
  const refusal = { "grpc-status": "5", "grpc-message": "no%20such%20message" };
  const ways: (typeof answer)[] = [
    (stream) => stream.respond({ ...grpc, ...refusal }, { endStream: true }),
    (stream) => say(stream, Buffer.alloc(0), refusal),
    (stream) => say(stream, message(), refusal),
  ];
  for (answer of ways) {
    const error = await failure(client.getMessage({}));
    assert.deepEqual([error.code, error.rawMessage, error.metadata.get("grpc-status")], [Code.NotFound, "no such message", "5"]);
  }
});

test("what is no answer of gRPC has no status", async () => {
  const body = message();
  const ways: (typeof answer)[] = [
    (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    (stream) => stream.close(constants.NGHTTP2_NO_ERROR),
    (stream) => stream.session?.destroy(),
    (stream) => {
      stream.respond(grpc);
      stream.write(body.subarray(0, 9), () => stream.close(constants.NGHTTP2_CANCEL));
    },
    (stream) => say(stream, body.subarray(0, 9), { "grpc-status-details-bin": "" }),
    (stream) => {
      stream.respond({ ":status": 404, "content-type": "application/problem+json" });
      stream.end("{}");
    },
  ];
  for (answer of ways) {
    const error = await failure(client.getMessage({}));
    assert.equal(error.metadata.get("grpc-status"), null);
  }
  assert.equal((await failure(client.getMessage({}))).metadata.get("content-type"), "application/problem+json");
});

test("a broken answer is not taken for a message", async () => {
  const compressed = message();
  compressed[0] = 1;
  for (const body of [Buffer.alloc(0), message().subarray(0, -1), Buffer.concat([message(), message()]), compressed]) {
    answer = (stream) => say(stream, body, { "grpc-status": "0" });
    assert.equal((await failure(client.getMessage({}))).code, Code.Unknown);
  }
});

test("a call ends with its time and with its signal, and the server hears of it", async () => {
  answer = () => {};
  assert.equal((await failure(client.getMessage({}, { timeoutMs: 1 }))).code, Code.DeadlineExceeded);

  const reason = new Error("enough");
  const giving = new AbortController();
  const closed = new Promise<void>((resolve) => {
    answer = (stream) => {
      stream.on("close", resolve);
      giving.abort(reason);
    };
  });
  await assert.rejects(client.getMessage({}, { signal: giving.signal }), reason);
  await closed;
  await assert.rejects(client.getMessage({}, { signal: giving.signal }), reason);
});
