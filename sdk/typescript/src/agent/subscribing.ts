import type { Clock } from "../clock.js";
import type { Attempt } from "../transport.js";
import type { AgentLog } from "./log.js";
import { persist } from "./persisting.js";
import type { AgentServer, AgentSubscription, Waiting } from "./server.js";

export interface SubscribingOptions {
  /** Whether messages are to come with what they ask of the agent. */
  attends?: boolean;
  /** How messages are to wait. */
  waiting?: Waiting;
  log: AgentLog;
  /** Hears of attempts that failed, and may end the agent by throwing. */
  unreachable?: (error: unknown) => void;
}

/** Makes or finds the subscription over which an agent receives. */
export class Subscribing {
  /** Whether this run has had a subscription. */
  #began = false;

  constructor(
    private readonly server: AgentServer,
    private readonly clock: Clock,
    private readonly options: SubscribingOptions,
  ) {}

  /**
   * Creates the subscription, or finds it. One that has ended is replaced, one without the attention that the agent wants and, when the
   * agent starts, one that lets messages wait in another way; the requests that it had are in the inbox. A running agent whose
   * subscription another process replaced takes the new one as it is: the process that started last decides.
   */
  subscription(signal: AbortSignal): Promise<AgentSubscription> {
    const subscribe = async (attempt: Attempt): Promise<AgentSubscription> => {
      for (;;) {
        const made = await this.server.createSubscription(attempt);
        const there = made ?? (await this.server.findSubscription(attempt));
        if (there?.active && (made !== undefined || this.#accepts(there))) {
          this.#began = true;
          return there;
        }
        if (there !== undefined) {
          await this.server.deleteSubscription(there.id, attempt);
        }
      }
    };
    return persist(this.clock, signal, subscribe, this.options.unreachable ?? ((error) => this.options.log.unreachable(error)));
  }

  #accepts(there: AgentSubscription): boolean {
    if (this.#began || waitsAs(there, this.options.waiting ?? {})) {
      return there.attends || !this.options.attends;
    }
    this.options.log.replaces();
    return false;
  }
}

/** Whether a subscription lets messages wait as wanted. */
function waitsAs(there: AgentSubscription, wanted: Waiting): boolean {
  return (
    (there.compose ?? false) === (wanted.compose ?? false) &&
    there.digestSeconds === wanted.digestSeconds &&
    (wanted.maxChars === undefined || there.maxChars === wanted.maxChars)
  );
}
