import { constants, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { create, fromBinary, toBinary, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { StatusSchema, type Status } from "../../src/generated/google/rpc/status_pb.js";
import {
  ExchangeRequestSchema,
  ExchangeResponseSchema,
  NumberedAnswerSchema,
  type NumberedRequest,
} from "../../src/generated/openintent/v1/exchange_pb.js";
import { MessageSchema, MessageService } from "../../src/generated/openintent/v1/messages_pb.js";
import type { Clock } from "../../src/clock.js";
import { OpenIntentClient, type ClientOptions } from "../../src/index.js";
import { listening } from "./listening.js";

/** What the server says to a request: an answer, or the status that ends the stream. Undefined: nothing, yet. */
export type Said = { answer: MessageInitShape<typeof NumberedAnswerSchema>["answer"] } | { ends: Status } | undefined;

/** An exchange as the server has it. */
export class ServedStream {
  readonly requests: NumberedRequest[] = [];
  readonly cancelled: number[] = [];
  /** How many requests each frame had. */
  readonly frames: number[] = [];
  /** Whether the client has said that it has sent everything. */
  ended = false;
  closed = false;

  constructor(readonly http: ServerHttp2Stream) {
    http.on("error", () => {});
    http.on("close", () => (this.closed = true));
  }

  /** Answers a request. */
  answer(number: bigint, answer: MessageInitShape<typeof NumberedAnswerSchema>["answer"]): void {
    if (!this.http.headersSent) {
      this.http.respond(grpc, { waitForTrailers: true });
    }
    this.http.write(framed(ExchangeResponseSchema, { answers: [{ number, answer }] }));
  }

  /** Answers the send with a number. */
  stored(number: bigint): void {
    this.answer(number, together(number));
  }

  /** Ends the stream with a status. */
  end(status: Status): void {
    end(this.http, status);
  }

  /** Loses the stream, as a connection is lost. */
  lose(): void {
    this.http.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** Stands in for a server. Calls of their own are answered at once, unless they are held. */
export class ExchangeServer {
  /** The calls that came on their own: their method, and the key of sends. */
  readonly alone: string[] = [];
  readonly streams: ServedStream[] = [];
  /** What is said to a request. */
  say: (request: NumberedRequest, stream: ServedStream) => Said = ({ number }) => ({ answer: together(number) });
  /** What ends a stream when it begins. */
  refusal: Status | undefined;
  /** The status of calls of their own. */
  refusalAlone: Status | undefined;
  /** Calls of their own wait until these are called. */
  held: (() => void)[] | undefined;
  /** Whether streams are read. */
  reads = true;
  address = "";
  readonly #http: Http2Server = createServer();
  readonly #clients: OpenIntentClient[] = [];
  #changed: () => void = () => {};

  async start(): Promise<this> {
    this.#http.on("stream", (stream, headers) => {
      const path = String(headers[":path"]);
      if (path.endsWith("/Exchange")) {
        this.#exchange(stream);
      } else {
        this.#call(stream, path.slice(path.lastIndexOf("/") + 1));
      }
    });
    this.address = await listening(this.#http);
    return this;
  }

  /** A client whose calls go on an exchange from the first one on, unless the options say otherwise. */
  client(options: ClientOptions = {}): OpenIntentClient {
    const client = new OpenIntentClient({ server: this.address, agentId: "me", alwaysExchanges: true, ...options });
    this.#clients.push(client);
    return client;
  }

  stop(): void {
    this.#clients.forEach((client) => client.close());
    this.#http.close();
  }

  /** Listens no more, and loses its connections. */
  vanish(): void {
    this.#http.close();
    this.streams.forEach(({ http }) => http.session?.destroy());
  }

  get requests(): NumberedRequest[] {
    return this.streams.flatMap(({ requests }) => requests);
  }

  /** Waits until something is so. It is looked at whenever something comes. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const late = setTimeout(() => this.#changed(), 20_000);
    for (const begun = performance.now(); !holds(); ) {
      if (performance.now() - begun >= 20_000) {
        throw new Error(`It did not happen: ${what}.`);
      }
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
    clearTimeout(late);
  }

  #exchange(http: ServerHttp2Stream): void {
    const stream = new ServedStream(http);
    this.streams.push(stream);
    http.on("close", () => this.#changed());
    if (this.refusal !== undefined) {
      stream.end(this.refusal);
    } else if (this.reads) {
      this.read(stream);
    }
    this.#changed();
  }

  /** Reads what comes on a stream. */
  read(stream: ServedStream): void {
    const { http } = stream;
    let rest = Buffer.alloc(0);
    http.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const size = 5 + rest.readUInt32BE(1);
        const { requests, cancelled } = fromBinary(ExchangeRequestSchema, rest.subarray(5, size));
        rest = rest.subarray(size);
        stream.frames.push(requests.length);
        stream.cancelled.push(...cancelled.map(Number));
        stream.requests.push(...requests);
        requests.forEach((request) => this.#say(request, stream));
      }
      this.#changed();
    });
    http.on("end", () => {
      stream.ended = true;
      if (!http.headersSent) {
        http.respond(grpc, { waitForTrailers: true });
      }
      stream.end(ok);
      this.#changed();
    });
  }

  #say(request: NumberedRequest, stream: ServedStream): void {
    if (stream.http.destroyed || stream.http.writableEnded) {
      return;
    }
    const said = this.say(request, stream);
    if (said !== undefined && "answer" in said) {
      stream.answer(request.number, said.answer);
    } else if (said !== undefined) {
      stream.end(said.ends);
    }
  }

  #call(http: ServerHttp2Stream, method: string): void {
    const chunks: Buffer[] = [];
    http.on("error", () => {});
    http.on("data", (chunk: Buffer) => chunks.push(chunk));
    http.on("end", () => {
      const bytes = Buffer.concat(chunks).subarray(5);
      const key = method === "SendMessage" ? ` ${fromBinary(MessageService.method.sendMessage.input, bytes).idempotencyKey}` : "";
      this.alone.push(method + key);
      const answer = (): void => {
        if (this.refusalAlone !== undefined) {
          end(http, this.refusalAlone);
        } else {
          http.respond(grpc, { waitForTrailers: true });
          http.write(framed(MessageSchema, { id: "alone" }));
          end(http, ok);
        }
      };
      if (this.held === undefined) {
        answer();
      } else {
        this.held.push(answer);
      }
      this.#changed();
    });
  }
}

/** A clock that goes on when it is told to. */
export class SetClock implements Clock {
  time = 0;
  #timers: { at: number; then: () => void }[] = [];

  now(): number {
    return this.time;
  }

  random(): number {
    return 0;
  }

  after(milliseconds: number, then: () => void): () => void {
    const timer = { at: this.time + milliseconds, then };
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((other) => other !== timer));
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Lets time pass. */
  pass(milliseconds: number): void {
    const until = this.time + milliseconds;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) {
        break;
      }
      this.#timers = this.#timers.filter((other) => other !== next);
      this.time = Math.max(this.time, next.at);
      next.then();
    }
    this.time = until;
  }
}

const grpc = { ":status": 200, "content-type": "application/grpc" };
export const ok = create(StatusSchema);

/** The answer to a send that came on a stream. */
export function together(number: bigint): { case: "message"; value: MessageInitShape<typeof MessageSchema> } {
  return { case: "message", value: { id: `together ${number}` } };
}

/** A status with what the server's refusals have: a reason, facts, a field and a time to wait. */
export function refusal(code: number, reason: string, message = reason): Status {
  const pair = (name: string, value: string): Uint8Array => new BinaryWriter().tag(1, 2).string(name).tag(2, 2).string(value).finish();
  const info = new BinaryWriter().tag(1, 2).string(reason).tag(3, 2).bytes(pair("message_id", "m1")).finish();
  const bad = new BinaryWriter().tag(1, 2).bytes(pair("payload", "is odd")).finish();
  const retry = new BinaryWriter().tag(1, 2).bytes(new BinaryWriter().tag(1, 0).int64(0).tag(2, 0).int32(5e6).finish()).finish();
  const details = Object.entries({ ErrorInfo: info, BadRequest: bad, RetryInfo: retry }).map(([name, value]) => ({
    typeUrl: `type.googleapis.com/google.rpc.${name}`,
    value,
  }));
  return create(StatusSchema, { code, message, details });
}

function end(http: ServerHttp2Stream, status: Status): void {
  const trailer = {
    "grpc-status": `${status.code}`,
    "grpc-message": encodeURIComponent(status.message),
    ...(status.details.length > 0 && { "grpc-status-details-bin": Buffer.from(toBinary(StatusSchema, status)).toString("base64") }),
  };
  if (!http.headersSent) {
    http.respond({ ...grpc, ...trailer }, { endStream: true });
    return;
  }
  http.once("wantTrailers", () => http.sendTrailers(trailer));
  http.end();
}

function framed<S extends DescMessage>(schema: S, message: MessageInitShape<S>): Buffer {
  const bytes = toBinary(schema, create(schema, message));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}
