import { part } from "../client/client.ts";
import { follow } from "../client/follow.ts";
import { elapsed } from "../client/pause.ts";
import { connection } from "./connection.svelte.ts";

type Listener = (name: string, data: string) => void;

/** Live is the one stream of everything that reaches the agent who is signed in. Pages listen to it. */
class Live {
  #listeners = new Set<Listener>();

  /** begin follows what reaches an agent until the returned function is called. */
  begin(agent: string): () => void {
    const end = new AbortController();
    void this.#follow(agent, end.signal);
    return () => {
      end.abort();
      connection.live = false;
    };
  }

  /** #follow begins again without a place if the server has lost it; what happened meanwhile, pages ask for themselves. */
  async #follow(agent: string, signal: AbortSignal): Promise<void> {
    let lost = true;
    while (lost && !signal.aborted) {
      lost = false;
      await follow(
        `v1/subscribe/agents/${part(agent)}`,
        { query: { include: "annotations" }, keepsWatch: true, signal },
        {
          begun: () => (connection.live = true),
          event: (name, data) => this.#listeners.forEach((listener) => listener(name, data)),
          lost: () => (connection.live = false),
          ended: (why) => {
            connection.live = false;
            lost = why?.status === 409;
          },
        },
      );
      await elapsed(lost ? 1000 : 0, signal);
    }
  }

  /** listen calls back for each event until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export const live = new Live();
