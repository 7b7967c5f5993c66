import { location } from "./location.svelte.ts";

/** With what somebody came to the console, besides an address: an invite, or what their identity provider gave them. */
class Arrival {
  /** The secret of an invite. */
  invite = $state<string>();
  /** The code with which a session begins that the identity provider has allowed. */
  code = $state<string>();
  /** Why the identity provider's answer was refused. */
  refused = $state<string>();

  /** begin reads the fragment of the address and takes it out of the address at once, because it may hold a secret. */
  begin(): void {
    this.#read();
    window.addEventListener("hashchange", () => this.#read());
  }

  #read(): void {
    const given = new URLSearchParams(location.fragment);
    const values = ["invite", "code", "refused"].map((name) => given.get(name) ?? undefined);
    if (values.every((value) => value === undefined)) {
      return;
    }
    [this.invite, this.code, this.refused] = values;
    location.forget();
  }
}

export const arrival = new Arrival();
