import type { Results } from "../../client/search.ts";
import { count } from "../../text/size.ts";

/** gapsOf says in sentences why a search may not have found everything. */
export function gapsOf(results: Pick<Results, "messages_left" | "intents_not_indexed" | "bounded">): string[] {
  const gaps: string[] = [];
  if (results.messages_left > 0) {
    gaps.push(`The server still indexes up to ${count(results.messages_left, "message")} of this intent, the newest first. The list goes on by itself.`);
  }
  if (results.intents_not_indexed > 0) {
    const some = results.intents_not_indexed === 1 ? "One intent is" : `${count(results.intents_not_indexed, "intent")} are`;
    gaps.push(`${some} not indexed yet, or not wholly. To search one of them, name it as the intent.`);
  }
  if (results.bounded) {
    gaps.push("The server has looked at as much as one page may. There may be more to find; filters help.");
  }
  return gaps;
}
