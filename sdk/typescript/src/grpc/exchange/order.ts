/** The sends of a channel that are made as calls of their own, and what waits for them. */
interface Channel {
  /** The number of the last one. */
  last: number;
  /** The numbers of those that are under way, in their order. */
  readonly underWay: Set<number>;
  /** What waits until the sends up to a number have ended, in the order in which it came. */
  readonly waiting: { readonly upTo: number; readonly then: () => void }[];
}

/**
 * Keeps the order of a channel's messages when calls go over to a stream: a call waits there until the sends that were begun before as calls
 * of their own have ended, and for no later ones.
 */
export class Order {
  readonly #channels = new Map<string, Channel>();

  /** Notes that a send to a channel begins as a call of its own. The returned function says that it has ended. */
  alone(id: string): () => void {
    let channel = this.#channels.get(id);
    if (channel === undefined) {
      channel = { last: 0, underWay: new Set(), waiting: [] };
      this.#channels.set(id, channel);
    }
    const known = channel;
    const number = ++known.last;
    known.underWay.add(number);
    return () => {
      known.underWay.delete(number);
      this.#release(id, known);
    };
  }

  /** Calls back once the sends to a channel that have begun as calls of their own have ended: at once if there are none. */
  after(id: string, then: () => void): void {
    const channel = this.#channels.get(id);
    if (channel === undefined) {
      then();
    } else {
      channel.waiting.push({ upTo: channel.last, then });
    }
  }

  #release(id: string, { underWay, waiting }: Channel): void {
    const [oldest = Infinity] = underWay;
    if (underWay.size === 0) {
      this.#channels.delete(id);
    }
    while (waiting[0] !== undefined && waiting[0].upTo < oldest) {
      waiting.shift()!.then();
    }
  }
}
