/** A filter of the search, by its name in the address and in the API. */
export interface Filter {
  name: "intent_id" | "channel_id" | "thread_id" | "sender" | "to" | "kind" | "after" | "before";
  label: string;
  /** What is offered while it is not set. */
  offer: string;
  /** What its field is called. */
  field: string;
  /** How its value is chosen. */
  by: "agent" | "intent" | "channel" | "time" | "text";
}

export const filters: readonly Filter[] = [
  { name: "intent_id", label: "In", offer: "Intent", field: "Intent", by: "intent" },
  { name: "channel_id", label: "On", offer: "Channel", field: "Channel", by: "channel" },
  { name: "sender", label: "From", offer: "Sender", field: "Sender", by: "agent" },
  { name: "to", label: "To", offer: "Addressee", field: "Addressee: an agent, role:… or *", by: "agent" },
  { name: "kind", label: "Kind", offer: "Kind", field: "Kind of message", by: "text" },
  { name: "after", label: "After", offer: "After", field: "Sent after", by: "time" },
  { name: "before", label: "Before", offer: "Before", field: "Sent before", by: "time" },
  { name: "thread_id", label: "Thread", offer: "Thread", field: "Id of the thread's first message", by: "text" },
];

/** setFilters returns the filters that an address has, with their values. */
export function setFilters(query: URLSearchParams): [Filter, string][] {
  return filters.flatMap((filter): [Filter, string][] => {
    const value = query.get(filter.name);
    return value === null || value === "" ? [] : [[filter, value]];
  });
}

/** queryOf makes the query of the API's call of an address; undefined if nothing is looked for. */
export function queryOf(address: URLSearchParams): Record<string, string> | undefined {
  const words = (address.get("q") ?? "").trim();
  if (words === "") {
    return undefined;
  }
  return { q: words, ...Object.fromEntries(setFilters(address).map(([filter, value]) => [filter.name, value])) };
}

/** without takes a filter out of an address, with those that mean nothing without it. */
export function without(name: Filter["name"]): Record<string, undefined> {
  return name === "intent_id" ? { intent_id: undefined, channel_id: undefined } : { [name]: undefined };
}
