import { timestampDate, timestampFromDate, type Timestamp } from "@bufbuild/protobuf/wkt";

/** A number that stands for no word: the server refuses it and says so. */
export const badWord = -1;

/** The word for a number on the wire; `unknown` for one that only a newer server knows. */
export function wordOf<W extends string>(words: Readonly<Record<W, number>>, value: number): W {
  for (const [word, number] of Object.entries(words) as [W, number][]) {
    if (number === value) {
      return word;
    }
  }
  return "unknown" as W;
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
