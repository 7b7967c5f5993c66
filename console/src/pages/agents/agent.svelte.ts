import { getAgent, getReach, listObligations, peekInbox, type AgentRecord, type Reach } from "../../client/agents.ts";
import type { Listed } from "../../client/list.ts";
import { listSubscriptions, type Subscription } from "../../client/subscriptions.ts";
import type { Inbox, Message } from "../../client/types.ts";
import { keepFresh } from "../../state/fresh.svelte.ts";
import { Loading } from "../../state/loading.svelte.ts";

/** What the page of one agent reads. Each part may be refused on its own. */
export class AgentView {
  readonly record: Loading<AgentRecord>;
  readonly reach: Loading<Reach>;
  readonly inbox: Loading<Inbox>;
  readonly owes: Loading<Listed<Message>>;
  readonly owed: Loading<Listed<Message>>;
  readonly subscriptions: Loading<Listed<Subscription>>;

  /** Without detail, only the record and the reach are read: the rest is for the agent itself and the operator. */
  constructor(
    readonly id: string,
    detail: boolean,
  ) {
    this.record = new Loading((signal) => getAgent(id, signal));
    this.reach = new Loading((signal) => getReach(id, signal));
    this.inbox = new Loading((signal) => peekInbox(id, signal));
    this.owes = new Loading((signal) => listObligations(id, "owes", signal));
    this.owed = new Loading((signal) => listObligations(id, "owed", signal));
    this.subscriptions = new Loading((signal) => listSubscriptions(id, undefined, signal));
    const parts = detail ? [this.record, this.reach, this.inbox, this.owes, this.owed, this.subscriptions] : [this.record, this.reach];
    keepFresh(() => parts.forEach((part) => void part.again()));
  }
}
