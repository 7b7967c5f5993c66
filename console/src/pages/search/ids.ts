import { pageOfId, type Route } from "../../state/routes.ts";

/** A place of the console: a page, and what is open on it. */
export interface Place {
  route: Route;
  query?: Record<string, string>;
}

/** placeOfId finds what shows the thing with an id of any kind, or nothing if the text is no id. A task's intent has to be asked for. */
export function placeOfId(text: string): Place | { task: string } | undefined {
  const id = text.trim();
  const route = pageOfId(id);
  if (route) {
    return { route };
  }
  const [, kind] = /^(sub|key|task)_[0-9A-Z]{26}$/i.exec(id) ?? [];
  switch (kind) {
    case "sub":
      return { route: { page: "subscriptions" }, query: { id } };
    case "key":
      return { route: { page: "keys" }, query: { id } };
    case "task":
      return { task: id };
    default:
      return undefined;
  }
}
