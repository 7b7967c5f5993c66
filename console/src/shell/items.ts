// The lists of a page, for the keyboard. Whatever is one thing of a list has the attribute data-item; what Enter does with it is the click on
// what has data-open in it, or else on its first link.

/** Where the focus was last, so that a list from which the thing was taken goes on at the same place. */
let last = { list: "", place: -1 };

/** step gives the focus to the next or the previous thing. */
export function step(main: HTMLElement, by: 1 | -1): void {
  const items = itemsIn(scopeIn(main));
  if (items.length === 0) {
    return;
  }
  const next = items[nextPlace(items, by)];
  if (next) {
    if (!next.hasAttribute("tabindex") && !next.matches("a, button")) {
      next.tabIndex = -1;
    }
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    last = { list: location.pathname, place: items.indexOf(next) };
  }
}

function nextPlace(items: HTMLElement[], by: 1 | -1): number {
  const at = items.findIndex((item) => item.contains(document.activeElement));
  if (at >= 0) {
    return at + by;
  }
  const log = items[0]?.closest("[role=log]");
  if (log) {
    // Whoever reads a log is at its end.
    return items.findLastIndex((item) => isInView(item, log));
  }
  if (last.list === location.pathname && last.place >= 0 && last.place < items.length) {
    return by > 0 ? last.place : Math.max(0, last.place - 1);
  }
  return 0;
}

/** scopeIn is where the keyboard is: the panel in which the focus is, the messages of a channel, or the whole page. */
function scopeIn(main: HTMLElement): HTMLElement {
  return document.activeElement?.closest<HTMLElement>("main aside") ?? main.querySelector<HTMLElement>("[role=log]") ?? main;
}

function itemsIn(scope: HTMLElement): HTMLElement[] {
  return [...scope.querySelectorAll<HTMLElement>("[data-item]")].filter((item) => item.getClientRects().length > 0);
}

function isInView(item: HTMLElement, log: Element): boolean {
  return item.getBoundingClientRect().top < log.getBoundingClientRect().bottom;
}

/** open does what Enter does with the thing that has the focus, and reports whether it does something. */
export function open(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || !target.matches("[data-item]:not(a, button)")) {
    return false;
  }
  const opener = target.querySelector<HTMLElement>("[data-open]") ?? (target.localName === "article" ? null : target.querySelector<HTMLElement>("a[href]"));
  opener?.click();
  return opener !== null;
}

const typing = 'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"])';

/** isTyping reports whether keys belong to where they were pressed: to a field, or to a dialog. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches(typing) || document.querySelector("dialog[open]") !== null);
}
