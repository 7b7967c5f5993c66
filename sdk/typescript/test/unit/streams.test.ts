import assert from "node:assert/strict";
import { once } from "node:events";
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Client } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { MessageService, SubscribeResponseSchema } from "../../src/generated/openintent/v1/messages_pb.js";
import { framed } from "../../src/grpc/framing.js";
import { Sessions } from "../../src/grpc/sessions.js";
import { withDirectCalls } from "../../src/grpc/unary.js";

const long = { timeout: 60_000 };
let server: Http2Server;
let sessions: Sessions;
let client: Client<typeof MessageService>;
/** What the server does with a stream. */
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

const grpc = { ":status": 200, "content-type": "application/grpc", "openintent-position": "7" };

function message(position: number, size = 10): Buffer {
  const response = { position: BigInt(position), message: { id: `m${position}`, payload: { text: "x".repeat(size) } } };
  return framed(toBinary(SubscribeResponseSchema, create(SubscribeResponseSchema, response)));
}

function end(stream: ServerHttp2Stream, status: Record<string, string>): void {
  stream.once("wantTrailers", () => stream.sendTrailers(status));
  stream.end();
}

/** Reads a stream to its end: the positions that it brought, and its error. */
async function read(options: Parameters<typeof client.subscribe>[1] = {}): Promise<[number[], unknown]> {
  const positions: number[] = [];
  try {
    for await (const { position } of client.subscribe({}, options)) {
      positions.push(Number(position));
    }
  } catch (error) {
    return [positions, error];
  }
  return [positions, undefined];
}

test("messages come in their order, however they are cut, after the header", long, async () => {
  answer = (stream) => {
    stream.respond(grpc, { waitForTrailers: true });
    const bytes = Buffer.concat([message(1), message(2, 50_000), message(3)]);
    for (let at = 0; at < bytes.length; at += 1_000) {
      stream.write(bytes.subarray(at, at + 1_000));
    }
    end(stream, { "grpc-status": "0" });
  };
  let position: string | null = null;
  const onHeader = (header: Headers): void => void (position = header.get("openintent-position"));
  assert.deepEqual(await read({ onHeader, headers: { "x-api-key": "k" } }), [[1, 2, 3], undefined]);
  const { ":path": path, "content-type": type, "x-api-key": key } = asked;
  assert.deepEqual([position, path, type, key], ["7", "/openintent.v1.MessageService/Subscribe", "application/grpc+proto", "k"]);
});

test("a status is the error, after what came before it", long, async () => {
  const refusal = { "grpc-status": "9", "grpc-message": "closed" };
  const ways: [typeof answer, number[]][] = [
    [(stream) => stream.respond({ ...grpc, ...refusal }, { endStream: true }), []],
    [
      (stream) => {
        stream.respond(grpc, { waitForTrailers: true });
        stream.write(message(1));
        end(stream, refusal);
      },
      [1],
    ],
  ];
  for (const [way, wanted] of ways) {
    answer = way;
    const [positions, error] = await read();
    assert.deepEqual(positions, wanted);
    assert.ok(error instanceof ConnectError);
    assert.deepEqual([error.code, error.rawMessage, error.metadata.get("grpc-status")], [Code.FailedPrecondition, "closed", "9"]);
  }
});

test("a stream that is lost, cut or no stream of gRPC has no status", long, async () => {
  const ways: (typeof answer)[] = [
    (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    (stream) => stream.session?.destroy(),
    (stream) => {
      stream.respond(grpc);
      stream.write(message(1), () => stream.close(constants.NGHTTP2_CANCEL));
    },
    (stream) => {
      stream.respond(grpc, { waitForTrailers: true });
      stream.write(message(1).subarray(0, 9));
      end(stream, { "grpc-status": "0" });
    },
    (stream) => {
      stream.respond({ ":status": 404, "content-type": "application/problem+json" });
      stream.end("{}");
    },
  ];
  for (answer of ways) {
    const [, error] = await read();
    assert.ok(error instanceof ConnectError, `${error}`);
    assert.equal(error.metadata.get("grpc-status"), null);
  }
});

test("a stream ends with its signal, and the server hears of it", long, async () => {
  const reason = new Error("enough");
  const giving = new AbortController();
  const closed = new Promise<void>((resolve) => {
    answer = (stream) => {
      stream.respond(grpc);
      stream.write(message(1));
      stream.on("close", resolve);
    };
  });
  const messages = client.subscribe({}, { signal: giving.signal })[Symbol.asyncIterator]();
  assert.equal((await messages.next()).value?.message?.id, "m1");
  const next = messages.next();
  giving.abort(reason);
  await assert.rejects(next, reason);
  await closed;
  assert.deepEqual(await read({ signal: giving.signal }), [[], reason]);
});

test("a reader that is slow holds the server up, and gets everything", long, async () => {
  const count = 400;
  let taken = 0;
  answer = (stream) => {
    stream.respond(grpc, { waitForTrailers: true });
    for (let i = 0; i < count; i++) {
      stream.write(message(i, 10_000), (error) => (taken += error ? 0 : 1));
    }
    end(stream, { "grpc-status": "0" });
  };
  const messages = client.subscribe({})[Symbol.asyncIterator]();
  await messages.next();
  for (let i = 0; i < 1_000; i++) {
    await new Promise((resolve) => setImmediate(resolve)); // Whatever the connection brings is taken meanwhile.
  }
  assert.ok(taken < count / 2, `${taken} messages of ${count} were taken`);
  let read = 1;
  for (; !(await messages.next()).done; read++);
  assert.equal(read, count);
});
