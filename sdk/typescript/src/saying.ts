import { badField } from "./errors.js";
import type { Names } from "./options.js";
import type { Collect, Directedness, Obligation, Priority, ResponsePolicy } from "./conversation-types.js";
import type { Message } from "./types.js";

/** What any message may say beside its payload. */
export interface MessageOptions {
  /** The message that it belongs under, or its id. */
  parent?: Pick<Message, "id"> | string;
  /** Up to 200 characters. */
  subject?: string;
  /** Up to 64 characters, such as `agent.chat`. */
  kind?: string;
  taskId?: string;
  priority?: Priority;
  /** Agents and `role:` names. They replace those that the server finds in the text; an empty list means none. */
  mentions?: readonly string[];
  /** Lowers how far recipients take it as meant for them. */
  directedness?: Directedness;
  /** Lowers what it asks of its recipients. */
  policy?: ResponsePolicy;
}

/** What a request may say too. */
export interface RequestOptions extends MessageOptions {
  /** How many answers it takes; `any` unless given. */
  collect?: Collect;
  /** Keeps the request open until somebody discharges it. */
  obligation?: Obligation;
  /** Refuses it, and sends nothing, if nobody is there to answer: FailedPreconditionError with the reason `NOBODY_THERE`. */
  failFast?: boolean;
}

/** How many answers a request takes exactly; null when there is no such number. */
export function exactly(collect: Collect | null | undefined): number | null {
  if (typeof collect === "object") {
    return collect?.quorum ?? null;
  }
  return collect === "one" ? 1 : null;
}

export const messageNames: Names<MessageOptions> = {
  parent: true,
  subject: true,
  kind: true,
  taskId: true,
  priority: true,
  mentions: true,
  directedness: true,
  policy: true,
};

export const requestNames: Names<RequestOptions> = { ...messageNames, collect: true, obligation: true, failFast: true };

/** What a message says, as transports write it. */
export interface Said extends Omit<RequestOptions, "parent"> {
  parentId?: string;
  fence?: number;
  document?: boolean;
  replaces?: string;
}

/** What a message says that is a document of its channel. */
export interface DocumentOptions {
  /** Makes it the present content of the channel's document that is called `kind`. It is kept however many messages come after it. */
  document?: boolean;
  /** The message that must be the document's content now, or its id; "" if there must be none. Absent: whichever is. */
  replaces?: Pick<Message, "id"> | string;
}

export const documentNames: Names<DocumentOptions> = { document: true, replaces: true };

/** The options that say something as they are given. */
const plain = [
  "subject", "kind", "taskId", "priority", "mentions", "directedness", "policy", "collect", "obligation", "failFast", "fence", "document",
] as const satisfies readonly (keyof Said)[];

/** Picks what a message says from a call's options; nothing for a plain message. */
export function said(options: RequestOptions & DocumentOptions & { fence?: number }): { said?: Said } {
  if (options.mentions !== undefined && !Array.isArray(options.mentions)) {
    throw badField("mentions", "must be a list of names");
  }
  let given: Record<string, unknown> | undefined;
  const say = (name: keyof Said, value: unknown): void => {
    if (value !== undefined) {
      (given ??= {})[name] = value;
    }
  };
  say("parentId", idOf(options.parent));
  plain.forEach((name) => say(name, options[name]));
  say("replaces", idOf(options.replaces));
  return given === undefined ? {} : { said: given as Said };
}

function idOf(message: Pick<Message, "id"> | string | undefined): string | undefined {
  return typeof message === "object" ? message.id : message;
}
