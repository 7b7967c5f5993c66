import type { Received } from "../agent/server.js";
import { RecentIds } from "../recent.js";
import type { Message } from "../types.js";

/*
 * Which messages a mailbox holds, which of them come first, and which deliveries are done with. Nothing here waits.
 */

const remembered = 10_000;
const firstTurn = 1_000;
const longestTurn = 10_000;

/** Whether only the holder of a claim may answer a message: a request to a role that takes an exact number of answers. */
export function needsClaim({ collect, messageType, to }: Message): boolean {
  const exact = collect === "one" || (typeof collect === "object" && collect !== null);
  return exact && messageType === "request" && (to ?? "").startsWith("role:");
}

/** A message that a mailbox holds. Times are in milliseconds, on a clock that only runs forward. */
export class Letter {
  /** The numbers of its deliveries; none for what was found in the inbox. */
  readonly numbers = new Set<number>();
  taken = false;
  attempt: number;
  message: Message;
  /** When its content was read last. */
  read: number;
  notBefore = 0;
  #turns = 0;

  constructor(
    readonly received: Received,
    private readonly came: number,
  ) {
    this.message = received.message;
    this.attempt = received.attempt;
    this.read = came;
  }

  /** Whether somebody waits for the agent to answer. */
  get waitsForAnswer(): boolean {
    const policy = this.received.attention?.policy;
    return (this.message.messageType === "request" && policy !== "must_not_respond") || policy === "must_respond";
  }

  /** Its place among others: urgent ones, those that wait for an answer, and the rest. */
  get group(): number {
    const priority = this.received.attention ? this.received.attention.priority : this.message.priority;
    return priority === "urgent" ? 0 : this.waitsForAnswer ? 1 : 2;
  }

  /** Whether nobody waits for an answer any more. */
  isOver(now: number): boolean {
    const left = this.received.attention?.deadlineMs;
    return typeof left === "number" && now >= this.came + left;
  }

  /** Puts the message off because others hold the claims on it: for longer and longer. */
  putOff(now: number): void {
    this.notBefore = now + Math.min(firstTurn * 2 ** Math.min(this.#turns, 10), longestTurn);
    this.#turns++;
  }
}

/**
 * The most important message first, and then each by its position. Positions of different intents do not compare, so the time goes before
 * them; within an intent it rises with them.
 */
function compare(a: Letter, b: Letter): number {
  return (
    a.group - b.group ||
    a.message.createdAt.getTime() - b.message.createdAt.getTime() ||
    (a.received.position ?? 0) - (b.received.position ?? 0) ||
    (a.message.id < b.message.id ? -1 : 1)
  );
}

/**
 * The messages that a mailbox holds: those that wait, and those that were taken and not settled. It remembers the newest ids of what was
 * settled, so that what comes again is not shown again.
 */
export class Mail {
  readonly #letters = new Map<string, Letter>();
  readonly #done = new RecentIds(remembered);
  #finished: number[] = [];

  /** Takes in a message with the number of its delivery, or 0. Returns whether it is new. */
  arrive(letter: Letter, number: number): boolean {
    const { id } = letter.message;
    const known = this.#letters.get(id);
    if (known === undefined && this.#done.has(id)) {
      this.passOver(number);
      return false;
    }
    if (known === undefined) {
      this.#letters.set(id, letter);
    }
    if (known?.numbers.size === 0) {
      known.attempt = Math.max(known.attempt, letter.attempt); // It was found in the inbox, which does not say the attempt.
    }
    if (number !== 0) {
      (known ?? letter).numbers.add(number);
    }
    return known === undefined;
  }

  /** Notes that a delivery is not for the mailbox. */
  passOver(number: number): void {
    if (number !== 0) {
      this.#finished.push(number);
    }
  }

  /** What waits, the most important first. */
  waiting(now: number): Letter[] {
    return [...this.#letters.values()].filter(({ taken, notBefore }) => !taken && notBefore <= now).sort(compare);
  }

  /** In how many milliseconds the next message that was put off has its turn; undefined: there is none. */
  nextTurn(now: number): number | undefined {
    const times = [...this.#letters.values()].filter(({ taken, notBefore }) => !taken && notBefore > now);
    return times.length === 0 ? undefined : Math.min(...times.map(({ notBefore }) => notBefore)) - now;
  }

  letter(id: string): Letter | undefined {
    return this.#letters.get(id);
  }

  /** Lets a message that was taken wait again. */
  putBack(id: string): void {
    const letter = this.#letters.get(id);
    if (letter?.taken) {
      letter.taken = false;
      letter.attempt++;
    }
  }

  /** Notes that a message is done with, whether it has come or is about to. Its deliveries are to be acknowledged. */
  finish(id: string): void {
    this.#finished.push(...(this.#letters.get(id)?.numbers ?? []));
    this.#letters.delete(id);
    this.#done.add(id);
  }

  /** Forgets what waits and what is to be acknowledged: another process has it now. What was taken stays. */
  standBy(): void {
    for (const [id, { taken }] of this.#letters) {
      if (!taken) {
        this.#letters.delete(id);
      }
    }
    this.#finished = [];
  }

  /** How many deliveries are done with and not acknowledged. */
  get unacknowledged(): number {
    return this.#finished.length;
  }

  /** Takes the next deliveries that are done with, up to 1,000. */
  acknowledgeable(): number[] {
    return this.#finished.splice(0, 1_000);
  }

  /** Returns deliveries that could not be acknowledged. */
  returnNumbers(numbers: readonly number[]): void {
    this.#finished.push(...numbers);
  }
}
