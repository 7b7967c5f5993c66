import type { Route } from "./routes.ts";

/** The pages that two keys open: `g`, then the letter. */
export const letters = { n: "needs", i: "intents", a: "agents", s: "search", u: "subscriptions", k: "keys", v: "server" } as const;

export type Place = (typeof letters)[keyof typeof letters];

/** How long `g` waits for its letter, in milliseconds. */
const patience = 2000;

/** What a key asks of the page. */
export type Meaning = "next" | "previous" | "search" | "help" | { go: Place };

/** What is read of a key that was pressed. */
export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  timeStamp: number;
}

const single: Record<string, Meaning> = { j: "next", k: "previous", "/": "search", "?": "help" };

/** Keyboard knows what the keys of one character mean, one after the other. */
export class Keyboard {
  #began = -Infinity;

  /** press returns what a key means; nothing if it means nothing to the page. */
  press({ key, ctrlKey, metaKey, altKey, timeStamp }: Pressed): Meaning | undefined {
    if (ctrlKey || metaKey || altKey) {
      this.forget();
      return undefined;
    }
    const going = timeStamp - this.#began <= patience;
    this.forget();
    if (going && Object.hasOwn(letters, key)) {
      return { go: letters[key as keyof typeof letters] };
    }
    if (key === "g") {
      this.#began = timeStamp;
      return undefined;
    }
    return Object.hasOwn(single, key) ? single[key] : undefined;
  }

  /** forget ends what a first key has begun. */
  forget(): void {
    this.#began = -Infinity;
  }
}

/** One line of the help: the keys, and what they do. `then` says that the second key comes after the first. */
export interface Line {
  keys: string[];
  then?: boolean;
  does: string;
}

/** What moves on a page, and what Enter does with it; a page that is not here has no list. */
const lists: Partial<Record<Route["page"], { one: string; opens?: string }>> = {
  needs: { one: "thing", opens: "Open it in its place" },
  intents: { one: "intent", opens: "Open the intent" },
  intent: { one: "line", opens: "Open what the line is about" },
  channel: { one: "message", opens: "Open the thread" },
  message: { one: "message", opens: "Open the thread" },
  agents: { one: "agent", opens: "Open the agent" },
  agent: { one: "line", opens: "Open what the line is about" },
  search: { one: "result", opens: "Open the message in its channel" },
  subscriptions: { one: "subscription", opens: "Show what was given up" },
  keys: { one: "key" },
};

const writing: Partial<Record<Route["page"], string>> = { channel: "Send", message: "Send", request: "Send the answer", needs: "Send the answer" };

/** linesOf says which keys do something on a page, for somebody who sees these places in the menu. */
export function linesOf(page: Route["page"], places: readonly { page: Place; label: string }[]): { title: string; lines: Line[] }[] {
  const list = lists[page];
  const here: Line[] = [];
  if (list) {
    here.push({ keys: ["j"], does: `Next ${list.one}` }, { keys: ["k"], does: `Previous ${list.one}` });
    if (list.opens !== undefined) {
      here.push({ keys: ["Enter"], does: list.opens });
    }
  }
  const sends = writing[page];
  if (sends !== undefined) {
    here.push({ keys: ["Ctrl", "Enter"], does: `${sends}, while you write` });
  }
  const everywhere: Line[] = [
    { keys: ["/"], does: "Search" },
    { keys: ["?"], does: "Show this help" },
    { keys: ["Esc"], does: "Close what is open" },
  ];
  const letterOf = (place: Place) => Object.entries(letters).find(([, one]) => one === place)?.[0] ?? "";
  const going = places.map(({ page, label }) => ({ keys: ["g", letterOf(page)], then: true, does: label }));
  return [
    { title: "On this page", lines: here },
    { title: "Everywhere", lines: everywhere },
    { title: "Go to", lines: going },
  ].filter(({ lines }) => lines.length > 0);
}
