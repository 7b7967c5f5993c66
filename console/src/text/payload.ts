import type { Fields, Json } from "../client/types.ts";

/** The names of fields that hold what a message says in words; the first that is there counts. The server looks for mentions there, too. */
const wordFields = ["text", "content", "question"];

/** Said is a payload, split into its words and the rest. */
export interface Said {
  /** What the message says in words; empty if it says nothing in words. */
  words: string;
  /** All other fields. */
  rest: Fields;
}

export function saidIn(payload: Fields): Said {
  for (const name of wordFields) {
    const words = payload[name];
    if (typeof words === "string" && words.trim() !== "") {
      const { [name]: _, ...rest } = payload;
      return { words, rest };
    }
  }
  return { words: "", rest: payload };
}

/** isEmpty reports whether an object has no fields. */
export function isEmpty(fields: Fields): boolean {
  return Object.keys(fields).length === 0;
}

/** bytesOf is how many bytes a value has as compact JSON. */
export function bytesOf(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

export function kindOf(value: Json): Kind {
  if (value === null) {
    return "null";
  }
  return Array.isArray(value) ? "array" : (typeof value as Kind);
}

/** entriesOf lists what is inside of an object or an array. */
export function entriesOf(value: Json): [string, Json][] {
  if (Array.isArray(value)) {
    return value.map((inside, place) => [String(place), inside]);
  }
  return value !== null && typeof value === "object" ? Object.entries(value) : [];
}

/** outline describes a value in one short line, such as `{batch, rows, …}` or `[3]`. */
export function outline(value: Json, most = 60): string {
  switch (kindOf(value)) {
    case "array":
      return `[${(value as Json[]).length}]`;
    case "object": {
      const names = Object.keys(value as Fields);
      let text = "";
      for (const [place, name] of names.entries()) {
        const next = (place > 0 ? ", " : "") + name;
        if (text.length + next.length > most && place > 0) {
          return `{${text}, …}`;
        }
        text += next;
      }
      return `{${text.length > most ? text.slice(0, most) + "…" : text}}`;
    }
    default: {
      const text = JSON.stringify(value);
      return text.length > most ? text.slice(0, most) + "…" : text;
    }
  }
}

/** objectIn returns the JSON object that a text is, if it is one. */
export function objectIn(text: string): Fields | undefined {
  if (!text.trimStart().startsWith("{")) {
    return undefined;
  }
  try {
    const value = JSON.parse(text) as Json;
    return kindOf(value) === "object" ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** How much a line of fields holds: so many of them, and so many signs of each. */
const mostPairs = 8;
const longestPair = 60;

/** pairsOf returns the fields of an object that reads as one line: few of them, each one short and without a value inside. */
export function pairsOf(fields: Fields): [string, string, Kind][] | undefined {
  const pairs: [string, string, Kind][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const kind = kindOf(value);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (kind === "object" || kind === "array" || text === "" || text.includes("\n") || name.length + text.length > longestPair) {
      return undefined;
    }
    pairs.push([name, text, kind]);
  }
  return pairs.length > 0 && pairs.length <= mostPairs ? pairs : undefined;
}
