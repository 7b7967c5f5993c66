import { pathOf, routeOf, type Route } from "./routes.ts";

const root = new URL(document.baseURI);

/** Location is the address of the page. Everything that can be seen has one, so this is most of the state that there is. */
class Location {
  #url = $state.raw(new URL(window.location.href));

  route = $derived(routeOf(this.#url.pathname.slice(root.pathname.length)));
  query = $derived(this.#url.searchParams);

  /** True if the reader has come to the address by the browser's history. */
  returned = false;

  /** The address, as text. */
  get href(): string {
    return this.#url.href;
  }

  /** follow moves with the browser's history, and with links to other places of the console. */
  begin(): void {
    window.addEventListener("popstate", () => {
      this.returned = true;
      this.#moved();
    });
    document.addEventListener("click", (event) => this.#clicked(event));
  }

  /** go shows another address; with replace, the one before it leaves the history. */
  go(href: string, options: { replace?: boolean } = {}): void {
    const next = new URL(href, root);
    if (next.href === window.location.href) {
      return;
    }
    this.returned = false;
    if (options.replace) {
      history.replaceState(null, "", next);
    } else {
      history.pushState(null, "", next);
    }
    this.#moved();
  }

  /** with returns the present address with other values in its query; an undefined one is left out. */
  with(changes: Record<string, string | undefined>): string {
    const next = new URL(this.#url);
    next.hash = "";
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === "") {
        next.searchParams.delete(name);
      } else {
        next.searchParams.set(name, value);
      }
    }
    return next.href;
  }

  /** forget takes the fragment out of the address, for it may hold a secret. */
  forget(): void {
    const next = new URL(this.#url);
    next.hash = "";
    history.replaceState(null, "", next);
    this.#moved();
  }

  /** The fragment, without its sign. */
  get fragment(): string {
    return this.#url.hash.slice(1);
  }

  #moved(): void {
    this.#url = new URL(window.location.href);
  }

  #clicked(event: MouseEvent): void {
    const anchor = event.target instanceof Element ? event.target.closest("a") : null;
    const other = event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (!anchor || other || anchor.target !== "" || anchor.hasAttribute("download") || !inConsole(anchor)) {
      return;
    }
    event.preventDefault();
    this.go(anchor.href);
  }
}

function inConsole(anchor: HTMLAnchorElement): boolean {
  return anchor.origin === root.origin && (anchor.pathname + "/").startsWith(root.pathname);
}

export const location = new Location();

/** to makes the address of a route. */
export function to(route: Route, query: Record<string, string | undefined> = {}): string {
  const url = new URL(pathOf(route), root);
  // The first page is the console's own address, without the slash at its end.
  if (url.pathname === root.pathname) {
    url.pathname = root.pathname.replace(/\/$/, "");
  }
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") {
      url.searchParams.set(name, value);
    }
  }
  return url.href;
}
