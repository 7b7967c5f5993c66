import type { Session } from "../client/types.ts";
import type { IconName } from "../parts/icons.ts";
import type { Place as Page } from "../state/keyboard.ts";
import type { Route } from "../state/routes.ts";

/** A place in the menu. */
export interface Place {
  page: Page;
  label: string;
  icon: IconName;
  /** The pages of single things that belong here. */
  also?: Route["page"][];
  operator?: boolean;
}

const places: Place[] = [
  { page: "needs", label: "What needs you", icon: "needs" },
  { page: "intents", label: "Intents", icon: "intents", also: ["intent", "channel", "message", "request"] },
  { page: "agents", label: "Agents", icon: "agents", also: ["agent"] },
  { page: "search", label: "Search", icon: "search" },
  { page: "subscriptions", label: "Subscriptions", icon: "subscriptions" },
  { page: "keys", label: "Keys", icon: "keys", operator: true },
  { page: "server", label: "Server", icon: "server", operator: true },
];

/** placesFor lists the places that somebody sees. Whoever has an operator's key sees the operator's, under whatever name. */
export function placesFor(who: Session): Place[] {
  return places.filter((place) => !place.operator || who.operator);
}
