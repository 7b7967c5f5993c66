/** Route is what an address shows. */
export type Route =
  | { page: "needs" | "intents" | "agents" | "search" | "subscriptions" | "keys" | "server" | "unknown" }
  | { page: PageOfOne; id: string };

/** The pages with one segment, by it. */
const plainPages = new Set(["intents", "agents", "search", "subscriptions", "keys", "server"] as const);
type PlainPage = typeof plainPages extends Set<infer P> ? P : never;

type PageOfOne = "intent" | "channel" | "message" | "request" | "agent";

/** The pages of one thing, by the segment before its id. */
const pagesOfOne: Record<string, PageOfOne> = {
  intents: "intent",
  channels: "channel",
  messages: "message",
  requests: "request",
  agents: "agent",
};

/** routeOf reads a path below the console's, such as `channels/chan_1`; empty is the first page. */
export function routeOf(path: string): Route {
  const [first = "", second, ...more] = path.replace(/^\/+|\/+$/g, "").split("/");
  if (first === "" && second === undefined) {
    return { page: "needs" };
  }
  if (more.length === 0) {
    if (second === undefined && plainPages.has(first as PlainPage)) {
      return { page: first as PlainPage };
    }
    const page = Object.hasOwn(pagesOfOne, first) ? pagesOfOne[first] : undefined;
    const id = second === undefined ? undefined : decoded(second);
    if (page && id) {
      return { page, id };
    }
  }
  return { page: "unknown" };
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** pathOf writes the address of a route. */
export function pathOf(route: Route): string {
  switch (route.page) {
    case "needs":
    case "unknown":
      return "";
    case "intent":
    case "channel":
    case "message":
    case "request":
    case "agent":
      return `${route.page}s/${encodeURIComponent(route.id)}`;
    default:
      return route.page;
  }
}

/** pageOfId finds the page of an id of any kind, or nothing if the text is no id. Names of agents are no ids. */
export function pageOfId(text: string): Route | undefined {
  const id = text.trim();
  if (/^chan_[0-9A-Z]{26}$/i.test(id)) {
    return { page: "channel", id };
  }
  if (/^msg_[0-9A-Z]{26}$/i.test(id)) {
    return { page: "message", id };
  }
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) {
    return { page: "intent", id };
  }
  if (/^agent_[0-9A-Z]{26}$/i.test(id)) {
    return { page: "agent", id };
  }
  return undefined;
}
