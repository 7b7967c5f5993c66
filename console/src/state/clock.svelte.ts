import { createSubscriber } from "svelte/reactivity";

import { serverNow } from "../client/client.ts";

/** ticking makes a clock that moves every so many milliseconds, while somebody looks at it. */
function ticking(interval: number): { readonly now: number } {
  const subscribe = createSubscriber((update) => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") {
        update();
      }
    }, interval);
    document.addEventListener("visibilitychange", update);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", update);
    };
  });
  return {
    get now() {
      subscribe();
      return serverNow();
    },
  };
}

/** For times that count down. */
export const seconds = ticking(1000);

/** For ages. */
export const halfMinutes = ticking(30_000);
