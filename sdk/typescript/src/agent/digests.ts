import type { Digest } from "../conversation-types.js";
import type { AgentLog } from "./log.js";

/** A digest as a handler gets it. */
export interface ReceivedDigest extends Digest {
  /** Aborts when the agent ends and waits no longer. */
  readonly signal: AbortSignal;
}

/** Handles a digest. What it throws is logged. */
export type DigestHandler = (digest: ReceivedDigest) => unknown;

/** An agent's handlers of digests. */
export class Digests {
  readonly #handlers: DigestHandler[] = [];

  add(handler: DigestHandler): void {
    this.#handlers.push(handler);
  }

  /** Calls all handlers in the order they were added. Without any, a digest is left out. */
  async handle(digest: Digest, signal: AbortSignal, log: AgentLog): Promise<void> {
    if (this.#handlers.length === 0) {
      log.digestUnhandled(digest.messageCount);
    }
    for (const handler of this.#handlers) {
      try {
        await handler({ ...digest, signal });
      } catch (error) {
        log.digestFailed(error);
      }
    }
  }
}
