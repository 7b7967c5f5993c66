import type { Concern } from "../../client/types.ts";
import type { IconName } from "../../parts/icons.ts";

/** How a kind of concern is shown. */
export interface KindOfConcern {
  title: string;
  icon: IconName;
}

/** The kinds in the order in which the page shows them: what somebody waits for comes before what is broken. */
const kinds: Record<string, KindOfConcern> = {
  halted: { title: "Work stands still", icon: "alert" },
  question: { title: "Questions for you", icon: "answer" },
  obligation: { title: "What you owe", icon: "alert" },
  unanswered: { title: "Nobody has answered", icon: "clock" },
  unreachable: { title: "Cannot be reached", icon: "no" },
  holder_lost: { title: "Work whose holder is gone", icon: "claim" },
  brake: { title: "Braked conversations", icon: "thread" },
  webhook: { title: "Webhooks that fail", icon: "subscriptions" },
  dead_letters: { title: "Deliveries that were given up", icon: "subscriptions" },
};

export function kindNamed(kind: string): KindOfConcern {
  return kinds[kind] ?? { title: kind.replaceAll("_", " "), icon: "alert" };
}

/** A group of concerns of one kind, oldest first. The group `halted` has those of any kind for which somebody's work stands still. */
export interface Group {
  kind: string;
  concerns: Concern[];
}

/**
 * groupsOf puts concerns of one kind together, in the page's order; kinds that the page does not know come last. halts reports whether
 * somebody's work stands still until a concern is dealt with.
 */
export function groupsOf(concerns: readonly Concern[], halts: (concern: Concern) => boolean = () => false): Group[] {
  const order = Object.keys(kinds);
  const groups = new Map<string, Concern[]>();
  for (const concern of concerns) {
    const kind = halts(concern) ? "halted" : concern.kind;
    groups.set(kind, [...(groups.get(kind) ?? []), concern]);
  }
  const place = (kind: string) => (order.includes(kind) ? order.indexOf(kind) : order.length);
  return [...groups]
    .map(([kind, some]) => ({ kind, concerns: some.sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0)) }))
    .sort((a, b) => place(a.kind) - place(b.kind));
}

/** The words of the server for what can be done, in words of the page. */
const labels: Record<string, string> = {
  answer: "Answer",
  claim: "Claim",
  decline: "Decline",
  defer: "Later",
  discharge: "Discharge",
  withdraw: "Withdraw",
  invite: "How to wake it",
  redrive: "Redrive",
  drop: "Drop",
  lift: "Let them go on",
  reassign: "Reassign",
};

/** labelOf is what a button says; an action that the page does not know has none. */
export function labelOf(action: string): string | undefined {
  return labels[action];
}

/** What the buttons do whose word leaves that open. */
const hints: Record<string, string> = {
  claim: "Tell the others that you work on it",
  decline: "Say that you will not answer; who asks is told",
  defer: "Put it off for an hour",
};

/** hintOf says what a button does, if its word does not. */
export function hintOf(action: string): string | undefined {
  return hints[action];
}

/** What was done, in words, for the line that offers to undo it. */
const done: Record<string, string> = {
  decline: "Declined",
  defer: "Put off for an hour",
  discharge: "Discharged",
  withdraw: "Withdrawn",
  redrive: "Redriven",
  drop: "Dropped",
  lift: "Let go on",
  claim: "Claimed",
};

export function doneOf(action: string, number: number): string {
  const word = done[action] ?? action;
  return number === 1 ? word : `${number} ${word.toLowerCase()}`;
}

/** What needs more than a click: words, a name, or a look elsewhere. These are not done to many at a time. */
const asking = new Set(["answer", "reassign", "invite"]);

export function needsMore(action: string): boolean {
  return asking.has(action);
}

/** commonActions are those that can be done to all of some concerns with one click. */
export function commonActions(concerns: readonly Concern[]): string[] {
  const [first, ...rest] = concerns;
  return (first?.actions ?? []).filter(
    (action) => labelOf(action) !== undefined && !needsMore(action) && rest.every((concern) => concern.actions.includes(action)),
  );
}
