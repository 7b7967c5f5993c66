import { OpenIntentError } from "./errors.js";
import { gotNoConnection } from "./server-away.js";

/** Takes warnings. `console` is one, and so are most loggers. */
export interface Warned {
  warn(text: string): void;
}

/** Says once that a client cannot reach its server, until a call succeeds. It knows whether the server has ever answered. */
export class Outage {
  #told = false;
  #reached = false;

  constructor(
    private readonly server: string,
    /** Null when somebody else says it. */
    private readonly logger: Warned | null,
  ) {}

  /** An attempt has failed, and is made again. */
  lasts(error: OpenIntentError): void {
    if (this.logger !== null && gotNoConnection(error) && !this.#told) {
      this.#told = true;
      warn(this.logger, `a client cannot reach the server at ${this.server} and keeps trying: ${error.message}`);
    }
  }

  /** The server has answered. */
  over(): void {
    this.#told = false;
    this.#reached = true;
  }

  /** A call has failed. A refusal is an answer, too. */
  failed(error: unknown): void {
    this.#reached ||= error instanceof OpenIntentError && error.reason !== "";
  }

  /** Whether the server has ever answered. */
  get reached(): boolean {
    return this.#reached;
  }
}

/** Warns. A logger that throws does not stop the client. */
export function warn(logger: Warned, text: string): void {
  try {
    logger.warn(text);
  } catch {
    // There is nowhere to say so.
  }
}
