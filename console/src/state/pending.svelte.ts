import { UndoQueue, type Pending } from "./undo.ts";

/** What is decided and not yet done, for the whole page. */
class PendingActions {
  list = $state.raw<Pending[]>([]);
  readonly queue: UndoQueue = new UndoQueue(
    {
      now: () => Date.now(),
      after: (milliseconds, then) => {
        const timer = setTimeout(then, milliseconds);
        return () => clearTimeout(timer);
      },
    },
    () => (this.list = this.queue.list),
  );

  /** begin does at once what is decided when the page is left. */
  begin(): void {
    window.addEventListener("pagehide", () => this.queue.flush());
  }
}

export const pending = new PendingActions();
