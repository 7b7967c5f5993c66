import { errorFrom } from "./errors.js";

/** The names of an interface's options: all of them, which the compiler checks. False: known, but not suggested. */
export type Names<T> = Readonly<Record<keyof T, boolean>>;

/** How far a suggested name may be from the given one, as a part of its length. */
const farthest = 0.4;
/** A text of at least this many characters that a known name contains suggests that name. */
const shortestPart = 3;

/**
 * Refuses options that are not known, so that a misspelt one cannot silently mean something else.
 *
 * @throws InvalidArgumentError that names the option, and the known one that is nearest to it
 */
export function refuseUnknown<T extends object>(taker: string, options: T, names: Names<T>): void {
  if (typeof options !== "object" || options === null) {
    throw refused("options", `The options of ${taker} must be an object`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const [stranger] = given.map(([name]) => name).filter((name) => !Object.hasOwn(names, name));
  if (stranger !== undefined) {
    const known = (Object.keys(names) as (keyof T & string)[]).filter((name) => names[name]);
    const near = nearest(stranger, known);
    const remedy = near === undefined ? `its options are ${known.join(", ")}` : `did you mean ${near}?`;
    throw refused(stranger, `${taker} has no option ${stranger}; ${remedy}`);
  }
}

function refused(field: string, sentence: string): Error {
  const message = sentence.endsWith("?") ? sentence : `${sentence}.`;
  return errorFrom({ code: "INVALID_ARGUMENT", reason: "INVALID_FIELD", message, violations: [{ field, description: message }] });
}

/** The known name that somebody may have meant; undefined when none is near. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string): string => text.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
  const wanted = plain(name);
  const [best] = known
    .map((candidate) => ({ candidate, distance: distance(wanted, plain(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  if (best !== undefined && best.distance <= Math.ceil(wanted.length * farthest)) {
    return best.candidate;
  }
  return wanted.length < shortestPart ? undefined : known.find((candidate) => plain(candidate).includes(wanted));
}

/** How many characters to insert, remove or replace to get from one text to the other; a swap of neighbours counts two. */
export function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
