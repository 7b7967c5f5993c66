import { environmentOf } from "./environment.js";
import { distance } from "./options.js";

const prefix = "OPENINTENT_";

/** The environment variables that clients read, in all languages. */
const variables = ["SERVER", "URL", "API_KEY", "AGENT_ID", "INTENT_ID", "TLS", "CA_FILE"];

/** Variables of others whose names are close to those: a setting of the server, and what a command learns that the command line wakes. */
const foreign = ["API_KEYS", "INTENT"];

const leastPart = 3;
const farthest = 2;

/** A sentence for each variable of an environment whose name is close to that of a client's setting and is none. */
export function misspelt(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    const short = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    const known = short === "" || !value || variables.includes(short) || foreign.includes(short);
    const meant = known ? undefined : nearest(short);
    return meant === undefined ? [] : [`${name} is no setting and has no effect; did you mean ${prefix}${meant}?`];
  });
}

/**
 * The variable that somebody may have meant. It has at most two other characters, one if it is short, or the given name is the
 * beginning or the end of its name.
 */
function nearest(short: string): string | undefined {
  const plain = (name: string): string => name.replaceAll("_", "");
  const wanted = plain(short);
  const far = (candidate: string): number => {
    const known = plain(candidate);
    const part = wanted.length >= leastPart && (known.startsWith(wanted) || known.endsWith(wanted));
    const distant = Math.min(distance(wanted, known), part ? farthest : Infinity);
    return distant < farthest || known.length > leastPart ? distant : Infinity;
  };
  const [best] = variables.map((candidate) => ({ candidate, far: far(candidate) })).sort((a, b) => a.far - b.far);
  return best !== undefined && best.far <= farthest ? best.candidate : undefined;
}

const warned = new Set<string>();

/** Says once in a program which variables of its environment are misspelt. */
export function warnOfMisspelt(warn: (text: string) => void): void {
  for (const sentence of misspelt(environmentOf())) {
    if (!warned.has(sentence)) {
      warned.add(sentence);
      warn(sentence);
    }
  }
}
