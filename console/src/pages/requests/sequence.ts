import type { Delivery } from "../../client/requests.ts";
import type { Annotation, Message, Reaction } from "../../client/types.ts";

/** What is known of a request, as far as the reader may know it. */
export interface Facts {
  request: Message;
  answers: readonly Message[];
  /** Undefined for whoever may not know what became of it. */
  deliveries: readonly Delivery[] | undefined;
  reactions: readonly Reaction[];
  history: readonly Annotation[];
}

export type Tone = "plain" | "accent" | "good" | "warn" | "bad";

/** Step is one thing that happened to a request. It goes from one lane to another, or happens in one. */
export interface Step {
  key: string;
  at: number;
  /** How long after the step before it, in milliseconds; 0 for the first. */
  after: number;
  from: string;
  to: string;
  /** What happened, in one or two words. */
  word: string;
  /** The word between it and the agent's name, and that name; empty if nobody has to be named. */
  link: string;
  agent: string;
  note: string;
  tone: Tone;
}

/** The lane of the server, whose name no agent has. */
export const server = "\u0000server";

/** How many recipients have lanes of their own. */
const mostRecipients = 6;

/** Why a claim ends with its holder's answer. */
const responded = "responded";

type Draft = Omit<Step, "after" | "key"> & { rank: number };

/** Sequence is what happened to a request, in order, and between whom. */
export interface Sequence {
  /** The sender, the server, and the recipients in the order in which they come up. */
  lanes: string[];
  steps: Step[];
  /** How many recipients have no lane. */
  others: number;
}

/** sequenceOf puts everything that is known of a request in order. */
export function sequenceOf(facts: Facts, now: number): Sequence {
  const drafts = [sent(facts.request), ...delivered(facts), ...toldOf(facts), ...answered(facts), ...ended(facts, now)];
  drafts.sort((a, b) => a.at - b.at || a.rank - b.rank);
  const lanes = lanesOf(facts, drafts);
  const shown = drafts.filter((draft) => lanes.includes(draft.from) && lanes.includes(draft.to));
  const steps = shown.map(({ rank: _, ...draft }, place): Step => {
    const before = shown[place - 1];
    return { ...draft, key: `${draft.word} ${draft.agent} ${draft.at} ${place}`, after: before === undefined ? 0 : draft.at - before.at };
  });
  return { lanes, steps, others: othersIn(facts, drafts, lanes) };
}

function lanesOf({ request }: Facts, drafts: readonly Draft[]): string[] {
  const recipients = new Set(drafts.flatMap((draft) => [draft.from, draft.to]));
  if (recipients.size <= 2 && request.to !== null && request.to !== "*") {
    // Nothing has happened yet, and the diagram shows for whom it waits.
    recipients.add(request.to);
  }
  recipients.delete(request.sender);
  recipients.delete(server);
  return [request.sender, server, ...[...recipients].slice(0, mostRecipients)];
}

function othersIn({ deliveries, request }: Facts, drafts: readonly Draft[], lanes: readonly string[]): number {
  const known = new Set([...drafts.flatMap((draft) => [draft.from, draft.to]), ...(deliveries ?? []).map((delivery) => delivery.agent_id)]);
  known.delete(request.sender);
  return [...known].filter((name) => !lanes.includes(name)).length;
}

function within(lane: string, at: string, word: string, more: Partial<Draft> = {}): Draft {
  return { at: Date.parse(at), from: lane, to: lane, word, link: "by", agent: lane, note: "", tone: "plain", rank: 3, ...more };
}

function sent(request: Message): Draft {
  const to = request.to === null || request.to === "*" ? "everyone" : request.to;
  return within(request.sender, request.created_at, "Sent and stored", { to: server, link: "for", agent: to, tone: "accent", rank: 0 });
}

function delivered({ deliveries, request }: Facts): Draft[] {
  const drafts: Draft[] = [];
  for (const delivery of deliveries ?? []) {
    const agent = delivery.agent_id;
    if (delivery.offered_at !== null) {
      drafts.push(within(agent, delivery.offered_at, "Offered", { from: server, link: "to", rank: 1 }));
    }
    if (delivery.surfaced_at !== null) {
      drafts.push(within(agent, delivery.surfaced_at, "Surfaced", { link: "to the model of", rank: 2 }));
    }
    if (delivery.read_at !== null) {
      drafts.push(within(agent, delivery.read_at, "Read", { rank: 3 }));
    }
    if (delivery.dead_lettered_at !== null) {
      const note = delivery.dead_letter_reason ?? "";
      drafts.push(within(agent, delivery.dead_lettered_at, "Given up", { from: server, link: "for", note, tone: "bad", rank: 4 }));
    }
  }
  // The one who was asked has read it at the latest then, and the message itself says so to everybody.
  if (deliveries === undefined && request.read_at !== null && request.to !== null && !request.to.startsWith("role:")) {
    drafts.push(within(request.to, request.read_at, "Read"));
  }
  return drafts;
}

/** Signals that say that an agent has begun, and how the others look. */
const tones: Record<string, Tone> = { agree: "good", done: "good", working: "accent", queued: "accent", claimed: "accent", declined: "bad", blocked: "bad", unclear: "warn" };

/** toldOf is what agents have said of the request without a message. */
function toldOf({ reactions, history }: Facts): Draft[] {
  const drafts: Draft[] = [];
  const told = new Set<string>();
  const holders = new Set<string>();
  for (const one of [...history].sort((a, b) => a.position - b.position)) {
    const agent = one.agent_id;
    if (one.type === "message_claimed") {
      if (!holders.has(agent)) {
        drafts.push(within(agent, one.created_at, "Claimed", { to: server, tone: "accent" }));
      }
      holders.add(agent);
    } else if (one.type === "claim_released") {
      holders.delete(agent);
      if (one.reason !== responded) {
        drafts.push(within(agent, one.created_at, "Claim ended", { link: "of", note: one.reason ?? "", tone: "warn" }));
      }
    } else if (one.type === "message_reaction") {
      told.add(`${agent} ${one.signal} ${one.created_at}`);
      drafts.push(reaction(agent, one.created_at, one.signal ?? "", one.note ?? "", one.change === "removed"));
    } else if (one.type === "message_edited") {
      drafts.push(within(agent, one.created_at, "Edited", { to: server }));
    } else if (one.type === "message_disposition") {
      drafts.push(...disposed(one));
    } else if (one.type === "obligation_discharged") {
      drafts.push(within(agent, one.created_at, "Discharged", { to: server, note: one.note ?? "" }));
    }
  }
  // What happened long ago is in no history that the page has read.
  const before = new Set(drafts.map((draft) => `${draft.agent} ${draft.word}`));
  for (const one of reactions) {
    const draft = reaction(one.agent_id, one.created_at, one.signal, one.note ?? "", false);
    if (!told.has(`${one.agent_id} ${one.signal} ${one.created_at}`) && !before.has(`${draft.agent} ${draft.word}`)) {
      drafts.push(draft);
    }
  }
  return drafts;
}

function reaction(agent: string, at: string, signal: string, note: string, removed: boolean): Draft {
  const word = signal === "declined" ? "Declined" : `“${signal.replace(/^x-/, "")}”`;
  return removed
    ? within(agent, at, `${word} taken back`, { to: server })
    : within(agent, at, word, { to: server, note, tone: tones[signal] ?? "plain" });
}

/** Claims and answers tell of themselves, so only what an agent decided otherwise is a step. */
function disposed(one: Annotation): Draft[] {
  const words: Record<string, string> = { deferred: "Put off", ignored: "Ignored" };
  const word = words[one.disposition ?? ""];
  return word === undefined ? [] : [within(one.agent_id, one.created_at, word, { to: server, note: one.reason ?? "", tone: "warn" })];
}

function answered(facts: Facts): Draft[] {
  const step = { to: facts.request.sender, tone: "good", rank: 5 } as const;
  return [
    ...facts.answers.map((answer) => within(answer.sender, answer.created_at, "Answered", step)),
    ...answeredUnseen(facts).map((one) => within(one.agent_id, one.created_at, "Answered", { ...step, note: "not for you to see" })),
  ];
}

/** answeredUnseen finds answers that the reader may not see: each has ended the claim of the agent that gave it. */
export function answeredUnseen({ answers, history }: Pick<Facts, "answers" | "history">): Annotation[] {
  return history.filter(
    (one) => one.type === "claim_released" && one.reason === responded && !answers.some((answer) => answer.sender === one.agent_id),
  );
}

function ended({ request, answers, history }: Facts, now: number): Draft[] {
  if (request.deleted_at !== undefined) {
    return [within(request.sender, request.deleted_at, "Withdrawn", { to: server, tone: "bad", rank: 6 })];
  }
  const expires = request.expires_at;
  if (answers.length + answeredUnseen({ answers, history }).length > 0 || expires === null || (request.status !== "expired" && Date.parse(expires) > now)) {
    return [];
  }
  return [within(server, expires, "Expired", { link: "", agent: "", note: "nobody had answered", tone: "warn", rank: 6 })];
}

/** The height of a step, in pixels, without the room above it. */
export const stepHeight = 36;

/** roomBefore is how much room stands for a time: a little more for ten times as long, so that seconds and days fit in one picture. */
export function roomBefore(after: number): number {
  return after < 1000 ? 0 : Math.min(28, 4 * Math.ceil(Math.log10(after / 1000) * 1.5 + 0.5));
}
