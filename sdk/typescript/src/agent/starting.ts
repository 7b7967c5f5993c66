import type { Clock } from "../clock.js";
import { OpenIntentError, tlsFailed } from "../errors.js";
import { gotNoConnection, localConnectTimeout, stillAway } from "../server-away.js";

export interface StartingOptions {
  server: string;
  /** Whether the server is on this machine. */
  local: boolean;
  /** How many seconds the agent waits for its first connection; undefined for ever. */
  connectTimeout: number | undefined;
  /** Tells those who wait for the start that they wait in vain. */
  inVain(error: OpenIntentError): void;
}

/**
 * The time before an agent is connected for the first time. The end of its time to connect ends the agent then, and so does a
 * failure of TLS, which nothing but other settings can mend. Later it goes on, since certificates are renewed.
 */
export class Starting {
  readonly #began: number;
  #over = false;

  constructor(
    private readonly clock: Clock,
    private readonly options: StartingOptions,
  ) {
    this.#began = clock.now();
  }

  /** The agent was connected. */
  over(): void {
    this.#over = true;
  }

  /** An attempt failed. Throws the error that ends the agent, if that is so. */
  failed(error: unknown): void {
    if (this.#over || !(error instanceof OpenIntentError)) {
      return;
    }
    if (error.reason === tlsFailed) {
      throw error;
    }
    const { server, local, connectTimeout, inVain } = this.options;
    const late = (seconds: number): boolean => gotNoConnection(error) && this.clock.now() - this.#began >= seconds * 1000;
    if (connectTimeout !== undefined && late(connectTimeout)) {
      throw stillAway(server, connectTimeout, error, null);
    }
    if (connectTimeout === undefined && local && late(localConnectTimeout)) {
      inVain(stillAway(server, localConnectTimeout, error, null));
    }
  }
}
