import { timestampDate, timestampFromDate, type Timestamp } from "@bufbuild/protobuf/wkt";

/** A number that stands for no word: the server refuses it and says so. */
export const badWord = -1;

/** The words of each table by their numbers: every message that comes is looked up in several tables. */
const byNumber = new WeakMap<object, Map<number, string>>();

/** The word for a number on the wire; `unknown` for one that only a newer server knows. */
export function wordOf<W extends string>(words: Readonly<Record<W, number>>, value: number): W {
  let known = byNumber.get(words);
  if (known === undefined) {
    known = new Map(Object.entries<number>(words).map(([word, number]) => [number, word]));
    byNumber.set(words, known);
  }
  return (known.get(value) ?? "unknown") as W;
}

export function dateOf(time: Timestamp | undefined): Date | null {
  return time === undefined ? null : timestampDate(time);
}

export function requiredDate(time: Timestamp | undefined): Date {
  return dateOf(time) ?? new Date(0);
}

export function timestamp(date: Date | undefined): Timestamp | undefined {
  return date === undefined ? undefined : timestampFromDate(date);
}
