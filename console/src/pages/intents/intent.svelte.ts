import { getReach, listAgents, type Reach } from "../../client/agents.ts";
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
import { Refused } from "../../client/refusal.ts";
import type { Channel, Intent } from "../../client/types.ts";
import { keepFresh } from "../../state/fresh.svelte.ts";
import { Loading } from "../../state/loading.svelte.ts";
import { Paged } from "../../state/paged.svelte.ts";

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
    const lists = [this.channels, this.tasks, this.leases];
    keepFresh(
      () => this.again(),
      () => {
        void this.intent.again();
        void this.members.again();
        lists.forEach((part) => part.refresh());
      },
    );
    keepFresh(
      () => this.events.again(),
      () => this.events.refresh(),
    );
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
