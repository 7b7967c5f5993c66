import { SvelteMap } from "svelte/reactivity";

import { get, part } from "../../client/client.ts";
import { getMessage, getThread } from "../../client/messages.ts";
import { Refused } from "../../client/refusal.ts";
import { followAnnotations, listDeliveries, listReactions, type Delivery } from "../../client/requests.ts";
import type { Annotation, Channel, Message, Reaction } from "../../client/types.ts";
import { keepFresh } from "../../state/fresh.svelte.ts";
import { live } from "../../state/live.svelte.ts";
import { Loading } from "../../state/loading.svelte.ts";

/** How far before the last known answer the page looks for claims and reactions, in places of the intent's log. */
const back = 5000;

/** What one request's page reads. */
export interface Read {
  request: Message;
  channel: Channel | undefined;
  answers: Message[];
  reactions: Reaction[];
  /** Undefined for whoever may not know what became of it. */
  deliveries: Delivery[] | undefined;
  /** There are more recipients than the page has read. */
  more: boolean;
  /** A place in the intent's log, not before the request. */
  position: number;
}

/** RequestView is what one request's page shows, kept up to date. */
export class RequestView {
  readonly loading: Loading<Read>;
  readonly #history = new SvelteMap<number, Annotation>();

  constructor(readonly id: string) {
    this.loading = new Loading((signal) => this.#read(signal));
    keepFresh(() => this.loading.again());
    // Whoever takes part hears of answers at once.
    $effect(() => live.listen((_name, data) => data.includes(id) && void this.loading.again()));
  }

  get history(): Annotation[] {
    return [...this.#history.values()];
  }

  /** followHistory reads what has happened to the request, and goes on with what happens, until the returned function is called. */
  followHistory(): () => void {
    const end = new AbortController();
    const read = this.loading.value;
    if (read !== undefined) {
      const take = (annotation: Annotation) => this.#history.set(annotation.position, annotation);
      void followAnnotations(read.request, Math.max(0, read.position - back), take, end.signal);
    }
    return () => end.abort();
  }

  async #read(signal: AbortSignal): Promise<Read> {
    const request = (await getMessage(this.id, signal)).body;
    const [channel, thread, reactions, deliveries] = await Promise.all([
      unlessRefused(get<Channel>(`v1/channels/${part(request.channel_id)}`, undefined, signal)),
      readThread(request, signal),
      listReactions(request, signal),
      unlessRefused(listDeliveries(request, signal)),
    ]);
    return {
      request,
      channel,
      answers: thread.messages.filter((message) => message.correlation_id === this.id),
      reactions: reactions.items,
      deliveries: deliveries?.items,
      more: deliveries?.next !== undefined,
      position: thread.position,
    };
  }
}

/** How many pages of a long thread are read for the answers in it. */
const mostPages = 5;

async function readThread(request: Message, signal: AbortSignal): Promise<{ messages: Message[]; position: number }> {
  const messages: Message[] = [];
  let position = 0;
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const thread = await getThread(request, cursor, signal);
    messages.push(...thread.messages);
    // The first page is the one nearest to the request.
    position ||= thread.last_position;
    cursor = thread.next_cursor ?? undefined;
    if (cursor === undefined) {
      break;
    }
  }
  return { messages, position };
}

/** unlessRefused is nothing where the reader has no right to know. */
async function unlessRefused<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (failure) {
    if (failure instanceof Refused) {
      return undefined;
    }
    throw failure;
  }
}
