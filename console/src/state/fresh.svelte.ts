import { untrack } from "svelte";

/** How often what changes by itself is read again unless a page says otherwise, in milliseconds. */
const often = 10_000;

/**
 * keepFresh reads at once, again whenever what read depends on changes, and every so many milliseconds while somebody looks at the page; then
 * by refresh, if that is another way.
 */
export function keepFresh(read: () => unknown, refresh = read, interval = often): void {
  $effect(() => {
    void read();
  });
  $effect(() => {
    let due = false;
    const again = () => {
      due = document.visibilityState !== "visible";
      if (!due) {
        untrack(refresh);
      }
    };
    const shown = () => {
      if (due) {
        again();
      }
    };
    const timer = setInterval(again, interval);
    document.addEventListener("visibilitychange", shown);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  });
}
