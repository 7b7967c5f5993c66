import { untrack } from "svelte";

import { getReach, listAgents, type Reach } from "../../client/agents.ts";
import { part } from "../../client/client.ts";
import { follow } from "../../client/follow.ts";
import {
  getIntent,
  listAssignments,
  listChannels,
  listCoordinators,
  listEvents,
  listLeases,
  listTasks,
  type Assignment,
  type Coordinator,
  type Lease,
  type LogEvent,
  type Task,
} from "../../client/intents.ts";
import type { Listed } from "../../client/list.ts";
import { elapsed } from "../../client/pause.ts";
import { Refused } from "../../client/refusal.ts";
import type { Channel, Intent } from "../../client/types.ts";
import { keepFresh } from "../../state/fresh.svelte.ts";
import { Loading } from "../../state/loading.svelte.ts";
import { Paged } from "../../state/paged.svelte.ts";
import { News, partsOf, type Part } from "./news.ts";

/** How often the page reads again what no event tells, in milliseconds, and what that is. */
const slowly = 30_000;
const unsaid: ReadonlySet<Part> = new Set(["members", "leases", "channels"]);

/** Who takes part in an intent, and who of them would hear what is sent to them now. */
export interface Members extends Listed<Assignment> {
  coordinators: Coordinator[];
  reach: Map<string, Reach>;
}

/** What the page of one intent reads. Each part may be refused on its own. */
export class IntentView {
  readonly intent: Loading<Intent>;
  readonly channels: Paged<Channel>;
  readonly members: Loading<Members>;
  readonly tasks: Paged<Task>;
  readonly leases: Paged<Lease>;
  readonly events: Paged<LogEvent>;

  /** eventType is the type of the events that are shown; undefined for all. */
  constructor(
    readonly id: string,
    eventType: () => string | undefined,
  ) {
    this.intent = new Loading((signal) => getIntent(id, signal));
    this.channels = new Paged((cursor, signal) => listChannels(id, cursor, signal));
    this.members = new Loading((signal) => readMembers(id, signal));
    this.tasks = new Paged((cursor, signal) => listTasks(id, cursor, signal));
    this.leases = new Paged((cursor, signal) => listLeases(id, cursor, signal));
    this.events = new Paged((cursor, signal) => listEvents(id, eventType(), cursor, signal));
    $effect(() => {
      void this.events.again();
    });
    this.#follow();
    // No event tells that an agent is heard of no more, that a lease has ended by itself, or that there is a channel before somebody speaks there.
    keepFresh(
      () => this.again(),
      () => this.#refresh(unsaid),
      slowly,
    );
  }

  /** #follow reads again what the intent's stream says has changed, and everything when the stream has begun. */
  #follow(): void {
    $effect(() => {
      const end = new AbortController();
      const news = new News((parts) => this.#refresh(parts));
      void followLog(this.id, news, end.signal);
      return () => {
        end.abort();
        news.end();
      };
    });
  }

  #refresh(parts: ReadonlySet<Part>): void {
    const readings: Record<Part, () => void> = {
      intent: () => void this.intent.again(),
      members: () => void this.members.again(),
      channels: () => this.channels.refresh(),
      tasks: () => this.tasks.refresh(),
      leases: () => this.leases.refresh(),
      events: () => this.events.refresh(),
    };
    untrack(() => parts.forEach((part) => readings[part]()));
  }

  /** again reads everything but the log once more. */
  again(): void {
    [this.intent, this.members, this.channels, this.tasks, this.leases].forEach((part) => void part.again());
  }

  /** changed reads everything again after the reader has changed something. */
  changed(): void {
    this.again();
    void this.events.again();
  }
}

/** followLog follows an intent's stream. It begins again if the server has lost the place, and then everything may have changed. */
async function followLog(intent: string, news: News, signal: AbortSignal): Promise<void> {
  let lost = true;
  while (lost && !signal.aborted) {
    lost = false;
    await follow(
      `v1/subscribe/intents/${part(intent)}`,
      { signal },
      {
        // What happened before the stream stood, the page may have read too early.
        begun: (again) => again || news.add(partsOf("")),
        event: (name) => news.add(partsOf(name)),
        ended: (why) => (lost = why?.status === 409),
      },
    );
    await elapsed(lost ? 1000 : 0, signal);
  }
}

async function readMembers(intent: string, signal: AbortSignal): Promise<Members> {
  const [assignments, coordinators] = await Promise.all([listAssignments(intent, undefined, signal), listCoordinators(intent, signal)]);
  const names = new Set([...assignments.items, ...coordinators.items].map((one) => one.agent_id));
  return { ...assignments, coordinators: coordinators.items, reach: await reachOf([...names], signal) };
}

/** reachOf asks for all registered agents at once, and for those that are not among them one by one. */
async function reachOf(names: string[], signal: AbortSignal): Promise<Map<string, Reach>> {
  const found = new Map<string, Reach>();
  if (names.length === 0) {
    return found;
  }
  for (const agent of (await listAgents({}, undefined, signal)).items) {
    if (agent.reach) {
      found.set(agent.agent_id, agent.reach);
    }
  }
  await Promise.all(
    names
      .filter((name) => !found.has(name))
      .map(async (name) => {
        try {
          found.set(name, await getReach(name, signal));
        } catch (failure) {
          // The row says nothing of the reach of an agent that the reader may not know about.
          if (!(failure instanceof Refused)) {
            throw failure;
          }
        }
      }),
  );
  return found;
}
