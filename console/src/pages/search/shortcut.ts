import { location, to } from "../../state/location.svelte.ts";

/** The field in which words are looked for; the page of the search has one. */
const field = "search-words";

/** openSearch goes to where words are looked for. */
export function openSearch(): void {
  const box = document.getElementById(field);
  if (box instanceof HTMLInputElement) {
    box.focus();
    box.select();
  } else {
    location.go(to({ page: "search" }));
  }
}
