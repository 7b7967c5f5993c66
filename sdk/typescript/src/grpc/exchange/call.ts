import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect";
import { errorFrom } from "../../errors.js";
import { StatusSchema } from "../../generated/google/rpc/status_pb.js";
import type { Message } from "../../generated/openintent/v1/messages_pb.js";
import { decoded } from "../coding.js";
import { reasonOf } from "../failure.js";
import type { Numbered } from "./frames.js";
import { refusalField, type Kind } from "./kinds.js";

/** A call that a client makes. */
export interface Made<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly method: DescMethodUnary<I, O>;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly header: HeadersInit | undefined;
  readonly input: MessageInitShape<I>;
  /** The request, encoded. */
  readonly bytes: Uint8Array;
}

/** Where a call waits for its answer. */
interface Carrier {
  /** The call waits no more. */
  giveUp(call: Call): void;
}

/** The reason for which a stream has no room for one more request. */
const noRoom = "TOO_MANY_UNDER_WAY";

const nothing = new Headers();

/** A call that is made on a stream. It ends once: with its answer, with a failure, with its signal or time, or as a call of its own. */
export class Call implements Numbered {
  /** Its number on the stream that it is on. */
  number = 0;
  /** Whether that number was sent. */
  sent = false;
  /** How a stream was lost that may have brought the call to the server; undefined if there was none. */
  loss: ConnectError | undefined;
  /** The stream that it is on. */
  on: Carrier | undefined;
  #ended = false;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly kind: Kind,
    private readonly made: Made,
    /** Makes it as a call of its own. */
    private readonly alone: () => Promise<UnaryResponse>,
    private readonly resolve: (response: UnaryResponse | Promise<UnaryResponse>) => void,
    private readonly reject: (reason: unknown) => void,
  ) {
    const { signal, timeoutMs } = made;
    signal?.addEventListener("abort", this.#abort);
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(this.#late, timeoutMs);
    }
    if (signal?.aborted) {
      this.#abort();
    }
  }

  get field(): number {
    return this.kind.request;
  }

  get bytes(): Uint8Array {
    return this.made.bytes;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Takes the answer, which stands in a field of NumberedAnswer. */
  answer(field: number, bytes: Uint8Array): void {
    try {
      if (field === refusalField) {
        this.#refused(refusalOf(bytes));
        return;
      }
      if (field !== this.kind.answer) {
        throw errorFrom({ code: "INTERNAL", message: "The server answered another call than this one." });
      }
      const message = decoded(this.made.method.output, bytes);
      if (this.kind.sends && !this.#complete(message as unknown as Message)) {
        this.makeAlone();
      } else if (this.#end()) {
        const { method } = this.made;
        this.resolve({ stream: false, service: method.parent, method, header: nothing, trailer: nothing, message });
      }
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    if (this.#end()) {
      this.reject(error);
    }
  }

  /** Makes the call on its own. If it gets no status there either, it may have been carried out where it was before. */
  makeAlone(): void {
    if (this.#end()) {
      const { loss } = this;
      const failed = (error: unknown): never => {
        throw loss === undefined || isStated(error) ? error : loss;
      };
      this.resolve(this.alone().catch(failed));
    }
  }

  #refused(refusal: ConnectError): void {
    if (reasonOf(refusal) === noRoom) {
      this.makeAlone();
    } else {
      this.fail(refusal);
    }
  }

  /**
   * Puts what the client has sent into the stored message, which comes without it. Returns false if that is not what the message has now:
   * somebody has changed it since an earlier attempt stored it.
   */
  #complete(message: Message): boolean {
    const sent = this.made.input as Partial<Pick<Message, "payload" | "metadata">>;
    message.payload ??= sent.payload ?? {};
    message.metadata ??= sent.metadata ?? {};
    return message.editedAt === undefined && message.deletedAt === undefined;
  }

  /** Ends the call, unless it has ended before. */
  #end(): boolean {
    if (this.#ended) {
      return false;
    }
    this.#ended = true;
    clearTimeout(this.#timer);
    this.made.signal?.removeEventListener("abort", this.#abort);
    return true;
  }

  #abort = (): void => this.#giveUp(this.made.signal!.reason);
  #late = (): void => this.#giveUp(new ConnectError("The time for the call is over.", Code.DeadlineExceeded));

  #giveUp(reason: unknown): void {
    this.fail(reason);
    this.on?.giveUp(this);
  }
}

/** Whether a failure is a status of the server, so that nobody need guess what it did. */
export function isStated(error: unknown): boolean {
  return error instanceof ConnectError && error.metadata.has("grpc-status");
}

/** The error of a refusal, the same as if it had come as the status of a call. */
function refusalOf(bytes: Uint8Array): ConnectError {
  const { code, message, details } = decoded(StatusSchema, bytes);
  const error = new ConnectError(message, code, { "grpc-status": `${code}` });
  error.details = details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }));
  return error;
}
