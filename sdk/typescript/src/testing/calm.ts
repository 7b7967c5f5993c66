import { exactly } from "../saying.js";
import type { Wire } from "./record.js";

/** For how long an agent says nothing until it is calm, in milliseconds. */
const calm = 150;

/**
 * Finds out when an agent is calm: it is not at work, or awaits an answer, and has said nothing new for 0.15 seconds. Where time may not pass, no
 * answer will come, and who awaits one is at work like others.
 */
export class Calm {
  #said: string | null = null;
  #since = 0;

  constructor(
    private readonly agentId: string,
    private readonly timeMayPass = true,
  ) {}

  /** Whether the agent is calm, for somebody who looks again and again: at a moment, its work, the intent's messages, and the server's time. */
  isReached(moment: number, atWork: boolean, messages: readonly Wire[], now: Date): boolean {
    const said = messages.filter(({ sender }) => sender === this.agentId).map(({ id }) => id).join();
    const awaits = this.timeMayPass && awaitsAnAnswer(this.agentId, messages, now);
    if (said !== this.#said || (atWork && !awaits)) {
      [this.#said, this.#since] = [said, moment];
    }
    return moment - this.#since >= calm;
  }
}

/**
 * Whether an agent has asked somebody, the time for that is not over, and fewer answers came than it collects. A request without an end is no such
 * question: nobody waits for its answer.
 */
export function awaitsAnAnswer(agentId: string, messages: readonly Wire[], now: Date): boolean {
  return messages.some((message) => {
    const asked = message["sender"] === agentId && message["message_type"] === "request" && message["status"] !== "expired";
    const ends = message["expires_at"] as string | null;
    const answers = messages.filter((other) => other["correlation_id"] === message["id"]);
    return asked && ends !== null && new Date(ends) > now && answers.length < collected(message["collect"]);
  });
}

/** How many answers end the wait for them; `all` waits until its time is over. */
function collected(collect: Wire["collect"]): number {
  return collect === "all" ? Infinity : (exactly(collect) ?? 1);
}
