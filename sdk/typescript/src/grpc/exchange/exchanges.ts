import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect";
import type { Clock } from "../../clock.js";
import { reasonOf } from "../failure.js";
import type { Sessions } from "../sessions.js";
import { Call, isStated, type Made } from "./call.js";
import { kinds, type Kind } from "./kinds.js";
import { Order } from "./order.js";
import { ExchangeStream, type Ending } from "./stream.js";

/** How many calls within a second make a client busy, and how many at a time. */
const busyCalls = 10;
const busyTogether = 2;
/** The largest request that goes on a stream, in bytes. A larger one would keep the others waiting. */
const largestRequest = 16 << 10;
/** How long calls go on their own after a stream was refused, or ended before it brought an answer, in milliseconds. */
const refusedFor = 10_000;

/** The reasons for which the server ends a stream that say nothing about its calls. */
const noRoomForStream = "TOO_MANY_STREAMS";
const notTaken = "ANSWERS_NOT_TAKEN";

/** What the order of calls needs to know of one. */
type Sent = { readonly input: object };

/**
 * Makes the calls of a busy client on one stream, which costs both sides less than a call of its own for each. A client is busy when two
 * calls overlap, or ten come within a second. A call means the same either way.
 */
export class Exchanges {
  #stream: ExchangeStream | undefined;
  readonly #order = new Order();
  /** How many calls are under way on their own that could be on a stream, and how many have begun since a moment. */
  #underWay = 0;
  #recent = 0;
  #since = -Infinity;
  /** Until when calls are made on their own. It is Infinity once the server has turned out to know no exchanges. */
  #aloneUntil = -Infinity;
  #closed = false;

  constructor(
    private readonly sessions: Sessions,
    private readonly clock: Clock,
    /** What says who calls. A call with other headers is made on its own. */
    private readonly identity: Record<string, string>,
    /** For tests: whether the client counts as busy from its first call on. */
    private readonly always: boolean,
  ) {}

  /** Makes a call, on a stream if it can; `alone` makes it on its own. */
  call<I extends DescMessage, O extends DescMessage>(
    made: Made<I, O>,
    alone: () => Promise<UnaryResponse<I, O>>,
  ): Promise<UnaryResponse<I, O>> {
    const kind = kinds.get(made.method);
    if (kind === undefined) {
      return alone();
    }
    const byItself = (): Promise<UnaryResponse<I, O>> => this.#alone(made, kind, alone);
    if (made.header !== this.identity || made.bytes.length > largestRequest || !this.#isBusy()) {
      return byItself();
    }
    const answered = new Promise<UnaryResponse>((resolve, reject) => {
      const call = new Call(kind, made, byItself, resolve, reject);
      if (kind.sends || kind.asks) {
        this.#order.after(channelOf(made), () => this.#place(call));
      } else {
        this.#place(call);
      }
    });
    return answered as Promise<UnaryResponse<I, O>>; // It is decoded as the method says.
  }

  /** Makes no call again. The streams end with their connection. */
  close(): void {
    this.#closed = true;
  }

  /** Notes a call that could be on a stream, and reports whether it should be. */
  #isBusy(): boolean {
    const now = this.clock.now();
    if (now - this.#since > 1000) {
      this.#since = now;
      this.#recent = 0;
    }
    this.#recent++;
    const busy = this.always || this.#recent >= busyCalls || this.#underWay + 1 >= busyTogether;
    return (busy || this.#stream?.takesCalls() === true) && this.#mayOpen(now);
  }

  #mayOpen(now: number): boolean {
    return now >= this.#aloneUntil;
  }

  /** Makes a call on its own. */
  async #alone<T>(made: Sent, kind: Kind, alone: () => Promise<T>): Promise<T> {
    this.#underWay++;
    const ended = kind.sends ? this.#order.alone(channelOf(made)) : undefined;
    try {
      return await alone();
    } finally {
      this.#underWay--;
      ended?.();
    }
  }

  /** Puts a call on the stream, or on a new one. */
  #place(call: Call): void {
    if (call.ended) {
      return;
    }
    if (this.#closed) {
      call.fail(new ConnectError("The exchange is closed.", Code.Canceled));
    } else if (!this.#mayOpen(this.clock.now())) {
      call.makeAlone();
    } else {
      this.#taking().add(call);
    }
  }

  /** The stream that takes calls. */
  #taking(): ExchangeStream {
    if (this.#stream === undefined || !this.#stream.takesCalls()) {
      const ended = (stream: ExchangeStream, ending: Ending): void => this.#ended(stream, ending);
      this.#stream = new ExchangeStream(this.sessions, this.clock, this.identity, this.#stream, ended);
    }
    return this.#stream;
  }

  /** Decides what becomes of the calls of a stream that has ended. */
  #ended(stream: ExchangeStream, { error, connected, unanswered }: Ending): void {
    if (this.#stream === stream) {
      this.#stream = undefined;
    }
    const stated = isStated(error);
    const reason = error === undefined ? "" : reasonOf(error);
    const unknown = stated && error?.code === Code.Unimplemented;
    const refused = unknown || (stated && reason === noRoomForStream);
    if (unknown) {
      this.#aloneUntil = Infinity;
    } else if (refused || (connected && !stream.heard && (error !== undefined || unanswered.length > 0))) {
      this.#aloneUntil = Math.max(this.#aloneUntil, this.clock.now() + refusedFor);
    }
    if (refused && !this.#closed) {
      unanswered.forEach((call) => call.makeAlone());
      return;
    }
    const lost = !stated || error?.code === Code.Unavailable || reason === notTaken;
    const loss = stated || error === undefined ? new ConnectError("The exchange has ended.", Code.Unavailable) : error;
    for (const call of unanswered) {
      if (stream.heard && lost && call.loss === undefined) {
        call.loss = call.sent ? loss : undefined;
        this.#place(call); // In the order in which the calls were made, so that they are stored in it.
      } else {
        call.fail(stated && !(lost && reason === notTaken) ? error : (call.loss ?? loss));
      }
    }
  }
}

function channelOf({ input }: Sent): string {
  return (input as { channelId?: string }).channelId ?? "";
}
