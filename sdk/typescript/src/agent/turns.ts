import type { Clock } from "../clock.js";
import { exactly } from "../saying.js";
import type { Message } from "../types.js";

/** What came of a message: it is done with, others hold the claims on it, or its handlers failed under a claim. */
export type Outcome = "done" | "taken" | "failed";

/** How often an agent calls the handlers of a claimed request before it answers with their failure. */
const attempts = 3;

/** How many requests wait for another turn. Further ones are left to the agents that hold the claims. */
export const mostAside = 1000;

const firstTurn = 1_000;
/** Longer than the first turn, so that other agents take the request first; in milliseconds. */
const afterFailure = 3_000;
const longestTurn = 10_000;

/** When an agent turns again to a request that it could not handle. The rule is the same in all languages. */
export class Turns {
  #taken = 0;
  #failures = 0;

  constructor(
    private readonly clock: Clock,
    private readonly message: Message,
  ) {}

  /** Whether this is the last attempt: because of their number, or because the request ends before another one. */
  get last(): boolean {
    const { expiresAt } = this.message;
    const left = expiresAt === null ? Infinity : expiresAt.getTime() - Date.now();
    return this.#failures + 1 >= attempts || left <= afterFailure * 2 ** this.#failures;
  }

  /** How long to wait for the next turn, in milliseconds. */
  wait(outcome: Outcome): number {
    const whole = outcome === "failed" ? afterFailure * 2 ** this.#failures++ : firstTurn * 2 ** Math.min(this.#taken++, 10);
    return Math.min(whole, longestTurn) * (0.5 + 0.5 * this.clock.random());
  }
}

/** Whether only holders of claims may answer a message: a request to a role that takes a certain number of answers. */
export function needsClaim({ messageType, to, collect }: Message): boolean {
  return exactly(collect) !== null && messageType === "request" && (to?.startsWith("role:") ?? false);
}
