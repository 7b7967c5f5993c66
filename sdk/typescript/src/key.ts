import { hostOf, isLoopback, type Address } from "./address.js";
import { environment, page } from "./environment.js";
import { badField } from "./errors.js";

/** The key of servers that were started without keys; they listen on this machine only. */
const developmentKey = "dev-key-001";

/**
 * The API key of a client: the given one, the environment's or, for a server on this machine, the development key. A page
 * takes the development key only when it comes from this machine too.
 *
 * @throws InvalidArgumentError when the given key is empty
 */
export function keyFor(given: string | undefined, { host }: Address): string | undefined {
  refuseEmpty("apiKey", "the key", given);
  const key = given ?? environment("OPENINTENT_API_KEY");
  if (key !== undefined) {
    return key;
  }
  const here = page();
  return isLoopback(host) && (here === undefined || isLoopback(hostOf(here))) ? developmentKey : undefined;
}

/** Refuses a setting that was given and is empty, which would silently mean another identity. */
export function refuseEmpty(setting: string, what: string, given: string | undefined): void {
  if (given !== undefined && given.trim() === "") {
    throw badField(setting, `is empty: give ${what}, or leave it out, so that the environment decides`);
  }
}

/** What to say when a server wants a key and the client has none; `sentence` is the server's own. */
export function missingKey(sentence: string): string {
  const [first] = sentence.split(";");
  const remedy = page() === undefined ? "set OPENINTENT_API_KEY, or give the option apiKey" : "give the option apiKey";
  return `${first!.replace(/\.$/, "")}: ${remedy}.`;
}
