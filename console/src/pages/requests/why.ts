import type { Explanation, Rule } from "../../client/requests.ts";
import { long } from "../../text/time.ts";

const policies = {
  must_respond: "An answer is expected of it.",
  may_respond: "It may answer.",
  ack_only: "To read it, or a reaction, is enough.",
  must_not_respond: "An answer would only disturb.",
};

const directions = {
  to_me: "The message is for this agent itself.",
  to_my_role: "The message is for a role of this agent, or for a thread in which it takes part.",
  ambient: "The message is for everybody.",
};

const injections = {
  immediate: "It is shown now, even if that interrupts a turn.",
  buffered: "It is shown at the next pause between turns.",
  notify: "It is announced, without its content.",
  digest: "It is one line of a summary.",
  tool_mailbox: "It is not shown; a tool can fetch it.",
};

/** Answered is one question about a message, and the answer in words with the server's word for it. */
export interface Answered {
  question: string;
  words: string;
  word: string;
}

/** inWords says what a message asks of an agent, as `openintent why` does; nothing if it asks nothing. */
export function inWords({ directedness, policy, injection }: Explanation): Answered[] {
  if (directedness === null || policy === null || injection === null) {
    return [];
  }
  return [
    { question: "For whom", words: directions[directedness], word: directedness },
    { question: "Answer", words: policies[policy], word: policy },
    { question: "How it is shown", words: injections[injection], word: injection },
  ];
}

/** rulesThatCount lists the rules that decided something or changed it, in order. */
export function rulesThatCount(rules: readonly Rule[]): Rule[] {
  return rules.filter(({ effect }) => effect !== "does not apply" && effect !== "changes nothing");
}

/** whileItWaits says how much time there is, and who works on it. */
export function whileItWaits({ deadline_ms, claim }: Explanation): string[] {
  return [
    ...(deadline_ms === null || deadline_ms <= 0 ? [] : [`It expires in ${long(deadline_ms)}.`]),
    ...(claim === null ? [] : [`${claim.holder} works on it, for another ${long(claim.expires_in_ms)} at least.`]),
  ];
}
