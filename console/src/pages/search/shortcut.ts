import { location, to } from "../../state/location.svelte.ts";

/** The field in which words are looked for; the page of the search has one. */
const field = "search-words";

/** openSearch opens the search when somebody who is not writing types a slash. */
export function openSearch(event: KeyboardEvent): void {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isWriting(event.target)) {
    return;
  }
  event.preventDefault();
  const box = document.getElementById(field);
  if (box instanceof HTMLInputElement) {
    box.focus();
    box.select();
  } else {
    location.go(to({ page: "search" }));
  }
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select") || target.closest("dialog") !== null);
}
