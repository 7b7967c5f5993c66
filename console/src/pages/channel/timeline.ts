import type { Annotation, Message, Reaction } from "../../client/types.ts";

/** A claim as others see it. */
export interface SeenClaim {
  holder: string;
  expires_at: string;
}

/**
 * Timeline is what is known of a channel: its messages in the order in which they were sent, without gaps, and what happened to them.
 * Whatever is added twice is there once, so lists and streams may overlap.
 */
export class Timeline {
  messages: Message[] = [];
  readonly reactions = new Map<string, Reaction[]>();
  readonly claims = new Map<string, SeenClaim[]>();
  /** The answers to a request, by its id, the first one first. */
  readonly answers = new Map<string, Message[]>();
  /** How many messages of a thread are here, without its first one, by its id. */
  readonly replies = new Map<string, number>();
  readonly #byId = new Map<string, Message>();

  get(id: string): Message | undefined {
    return this.#byId.get(id);
  }

  /** add takes messages in any order. It reports whether one was new. */
  add(messages: readonly Message[]): boolean {
    let grown = false;
    let ordered = true;
    for (const message of messages) {
      if (this.#byId.has(message.id)) {
        this.replace(message);
        continue;
      }
      grown = true;
      const last = this.messages.at(-1);
      ordered &&= last === undefined || last.created_at <= message.created_at;
      this.messages.push(message);
      this.#byId.set(message.id, message);
      this.#noteAnswer(message);
      this.#countReply(message, 1);
    }
    if (!ordered) {
      this.messages.sort(byTime);
    }
    return grown;
  }

  /** replace puts another version of a known message in its place. */
  replace(message: Message): void {
    const known = this.#byId.get(message.id);
    if (known === undefined || known === message) {
      return;
    }
    this.#byId.set(message.id, message);
    this.messages[this.messages.indexOf(known)] = message;
    const answers = message.correlation_id === null ? undefined : this.answers.get(message.correlation_id);
    const place = answers?.indexOf(known) ?? -1;
    if (answers && place >= 0) {
      answers[place] = message;
    }
  }

  /** trim forgets the oldest messages beyond a number, with all that is known of them, and returns them. */
  trim(most: number): Message[] {
    const gone = this.messages.splice(0, Math.max(0, this.messages.length - most));
    for (const message of gone) {
      this.#byId.delete(message.id);
      this.reactions.delete(message.id);
      this.claims.delete(message.id);
      this.#forgetAnswer(message);
      this.#countReply(message, -1);
    }
    return gone;
  }

  /** annotate notes what happened to a message. It returns the message's id if its content has to be read anew. */
  annotate(annotation: Annotation): string | undefined {
    const id = annotation.message_id;
    switch (annotation.type) {
      case "message_reaction":
        this.#react(id, annotation);
        return undefined;
      case "message_claimed":
        this.claims.set(id, [
          ...this.#claimsOfOthers(id, annotation.agent_id),
          { holder: annotation.agent_id, expires_at: annotation.expires_at ?? annotation.created_at },
        ]);
        return undefined;
      case "claim_released":
        this.claims.set(id, this.#claimsOfOthers(id, annotation.agent_id));
        return undefined;
      case "message_edited":
      case "message_deleted":
        return id;
      default:
        return undefined;
    }
  }

  #noteAnswer(message: Message): void {
    if (message.message_type === "response" && message.correlation_id !== null) {
      this.answers.set(message.correlation_id, [...(this.answers.get(message.correlation_id) ?? []), message].sort(byTime));
    }
  }

  #forgetAnswer({ correlation_id: request, id }: Message): void {
    const left = request === null ? undefined : this.answers.get(request)?.filter((answer) => answer.id !== id);
    if (request !== null && left !== undefined) {
      putUnlessEmpty(this.answers, request, left, left.length);
    }
  }

  #countReply({ thread_id: thread, id }: Message, change: number): void {
    if (thread !== undefined && thread !== id) {
      const count = Math.max(0, (this.replies.get(thread) ?? 0) + change);
      putUnlessEmpty(this.replies, thread, count, count);
    }
  }

  #react(id: string, annotation: Annotation): void {
    const { agent_id, signal = "", note = null, eta = null, created_at } = annotation;
    const all = this.reactions.get(id) ?? [];
    const place = all.findIndex((one) => one.agent_id === agent_id && one.signal === signal);
    if (annotation.change === "removed") {
      this.reactions.set(
        id,
        all.filter((_, at) => at !== place),
      );
    } else {
      const next = { agent_id, signal, note, eta, created_at };
      this.reactions.set(id, place < 0 ? [...all, next] : all.with(place, next));
    }
  }

  #claimsOfOthers(id: string, agent: string): SeenClaim[] {
    return (this.claims.get(id) ?? []).filter((claim) => claim.holder !== agent);
  }
}

/** putUnlessEmpty keeps a value only while there is something in it. */
function putUnlessEmpty<T>(map: Map<string, T>, key: string, value: T, size: number): void {
  if (size > 0) {
    map.set(key, value);
  } else {
    map.delete(key);
  }
}

function byTime(a: Message, b: Message): number {
  return a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0;
}
