import { constants, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { validateResponse, validateTrailer } from "@connectrpc/connect/protocol-grpc";
import type { Clock } from "../../clock.js";
import { ExchangeService } from "../../generated/openintent/v1/exchange_pb.js";
import { asConnectError, webHeaders } from "../coding.js";
import { FrameReader } from "../framing.js";
import type { Sessions } from "../sessions.js";
import type { Call } from "./call.js";
import { framesOf, readAnswers } from "./frames.js";

/** How many requests that are no asks may be sent and unanswered; further ones wait. The server refuses more than 256 that are not stored. */
const mostUnanswered = 250;
/** How long a stream without calls stays, and how often that is looked at, in milliseconds. */
const idleFor = 30_000;
const lookEach = 10_000;
/** For how long a stream takes calls, in milliseconds, so that a load balancer sees new ones. */
const oldAfter = 600_000;

const path = `/${ExchangeService.typeName}/${ExchangeService.method.exchange.name}`;

/** How a stream ended. */
export interface Ending {
  /** Undefined when the server ended it without an error. */
  readonly error: ConnectError | undefined;
  /** Whether there was a connection. */
  readonly connected: boolean;
  /** The calls that have no answer, in the order of their numbers. */
  readonly unanswered: Call[];
}

/** One exchange: a stream of numbered requests and their answers. It opens at once, and does not wait for the server. */
export class ExchangeStream {
  /** Whether it has brought an answer. A stream that ends before that may end so each time, because of something in between. */
  heard = false;
  readonly #began: number;
  #http: ClientHttp2Stream | undefined;
  #session: ClientHttp2Session | undefined;
  #last = 0;
  /** The calls without an answer. */
  readonly #waiting = new Map<number, Call>();
  /** Those of them that are not sent yet, and the numbers of cancelled ones, which the server does not know yet. */
  #out: Call[] = [];
  #cancelled: number[] = [];
  /** How many calls that are no asks are sent and unanswered. */
  #unanswered = 0;
  #used: number;
  /** Whether it takes no more calls. */
  #retired = false;
  #over = false;
  /** Whether the connection takes no more for now. */
  #blocked = false;
  #writes: NodeJS.Immediate | undefined;
  #stopLooking: () => void = () => {};
  /** The stream that takes calls after this one: it sends nothing before what this one has sent is stored. */
  #next: ExchangeStream | undefined;

  constructor(
    private readonly sessions: Sessions,
    private readonly clock: Clock,
    header: Record<string, string>,
    /** The one that took calls before it. */
    private before: ExchangeStream | undefined,
    private readonly ended: (stream: ExchangeStream, ending: Ending) => void,
  ) {
    this.#began = this.#used = clock.now();
    if (before !== undefined) {
      before.#next = this;
    }
    const headers = { ...header, "content-type": "application/grpc+proto", te: "trailers" };
    sessions.requestStanding("POST", path, headers, {}).then(
      (stream) => this.#opened(stream),
      (error: unknown) => this.#end(asConnectError(error)),
    );
    this.#look();
  }

  /** Whether it takes calls. An old one retires. */
  takesCalls(): boolean {
    if (!this.#retired && this.clock.now() - this.#began > oldAfter) {
      this.#retire();
    }
    return !this.#retired;
  }

  /** Adds a call. Everything that is added in one turn of the event loop goes with one write. */
  add(call: Call): void {
    call.number = ++this.#last;
    call.sent = false;
    call.on = this;
    if (this.#waiting.size === 0) {
      this.#hold();
    }
    this.#waiting.set(call.number, call);
    this.#out.push(call);
    this.#used = this.clock.now();
    this.#writeSoon();
  }

  /** Lets go of a call that waits no more, and tells the server if it knows of it. */
  giveUp(call: Call): void {
    if (this.#remove(call)) {
      if (call.sent) {
        this.#cancelled.push(call.number);
      } else {
        this.#out.splice(this.#out.indexOf(call), 1);
      }
      this.#writeSoon();
    }
  }

  /** Whether it may still be storing what came before anything on the next stream. Asks say nothing about that, and nobody waits for them. */
  get storing(): boolean {
    return !this.#over && this.#unanswered + this.#out.length > 0;
  }

  #opened(http: ClientHttp2Stream): void {
    if (this.#over) {
      http.close(constants.NGHTTP2_CANCEL);
      return;
    }
    this.#http = http;
    this.#session = http.session as ClientHttp2Session | undefined;
    if (this.#waiting.size > 0) {
      this.#hold();
    }
    let header: IncomingHttpHeaders & { ":status"?: number } = {};
    let trailer: IncomingHttpHeaders = {};
    const take = (number: number, field: number, bytes: Uint8Array): void => this.#answered(number, field, bytes);
    const reader = new FrameReader((response) => readAnswers(response, take));
    http.on("response", (came) => (header = came));
    http.on("trailers", (came) => (trailer = came));
    http.on("data", (chunk: Buffer) => {
      this.sessions.notifyResponseByteRead(http);
      try {
        reader.add(chunk);
      } catch (error) {
        this.#end(asConnectError(error));
      }
    });
    http.on("drain", () => {
      this.#blocked = false;
      this.#write();
    });
    http.on("end", () => {
      if (header[":status"] !== undefined) {
        this.#end(errorOf(header[":status"], webHeaders(header), webHeaders(trailer)));
      }
    });
    http.on("error", (error) => this.#end(asConnectError(error)));
    http.on("close", () => this.#end(new ConnectError(`The stream was closed with the code ${http.rstCode}.`, Code.Unavailable)));
    this.#write();
  }

  #answered(number: number, field: number, bytes: Uint8Array): void {
    this.heard = true;
    const call = this.#waiting.get(number);
    if (call !== undefined) {
      this.#remove(call);
      call.answer(field, bytes);
    }
  }

  /** Takes a call off the list of those that wait. */
  #remove(call: Call): boolean {
    if (!this.#waiting.delete(call.number)) {
      return false;
    }
    if (call.sent && !call.kind.asks) {
      this.#unanswered--;
      if (this.#out.length > 0) {
        this.#writeSoon(); // There is room for one that waits.
      }
    }
    if (this.#next !== undefined && !this.storing) {
      this.#next.#writeSoon();
    }
    if (this.#waiting.size === 0) {
      this.#letGo();
      if (this.#retired) {
        this.#writeSoon();
      }
    }
    return true;
  }

  #writeSoon(): void {
    this.#writes ??= setImmediate(() => this.#write());
  }

  /** Sends what is there, as far as the server has room for it. A retired stream with nothing left says that it has sent everything. */
  #write(): void {
    clearImmediate(this.#writes);
    this.#writes = undefined;
    if (this.#http === undefined || this.#blocked || this.#over || this.before?.storing) {
      return;
    }
    this.before = undefined;
    const some = this.#sendable();
    const cancelled = this.#cancelled.splice(0);
    if (some.length + cancelled.length > 0) {
      this.#blocked = !this.#http.write(framesOf(some, cancelled));
    }
    if (this.#retired && this.#waiting.size === 0) {
      this.#http.end();
    }
  }

  #sendable(): Call[] {
    let count = 0;
    for (const call of this.#out) {
      if (!call.kind.asks) {
        if (this.#unanswered >= mostUnanswered) {
          break;
        }
        this.#unanswered++;
      }
      call.sent = true;
      count++;
    }
    return this.#out.splice(0, count);
  }

  #retire(): void {
    this.#retired = true;
    this.#writeSoon();
  }

  /** Looks now and then whether the stream is used. */
  #look(): void {
    this.#stopLooking = this.clock.after(
      lookEach,
      () => {
        if (this.#waiting.size === 0 && this.clock.now() - this.#used >= idleFor) {
          this.#retire();
        } else {
          this.#look();
        }
      },
      true,
    );
  }

  /** While calls wait, the connection keeps the program running. */
  #hold(): void {
    if (this.#session !== undefined) {
      this.sessions.hold(this.#session);
    }
  }

  #letGo(): void {
    if (this.#session !== undefined) {
      this.sessions.letGo(this.#session);
    }
  }

  #end(error: ConnectError | undefined): void {
    if (this.#over) {
      return;
    }
    this.#over = this.#retired = true;
    this.#stopLooking();
    clearImmediate(this.#writes);
    if (this.#waiting.size > 0) {
      this.#letGo();
    }
    this.#http?.close(constants.NGHTTP2_CANCEL);
    const unanswered = [...this.#waiting.values()];
    this.#waiting.clear();
    unanswered.forEach((call) => (call.on = undefined));
    this.ended(this, { error, connected: this.#http !== undefined, unanswered });
    if (this.#next !== undefined) {
      this.#next.#writeSoon();
    }
  }
}

/** The error that a response says; undefined if it ended well. */
function errorOf(status: number, header: Headers, trailer: Headers): ConnectError | undefined {
  try {
    const { headerError } = validateResponse(status, header);
    validateTrailer(trailer, header);
    return headerError;
  } catch (error) {
    return asConnectError(error);
  }
}
