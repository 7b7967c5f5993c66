// Whether keys of one character do something. Who speaks to the machine, or often hits a wrong key, switches them off. The browser keeps that.

const place = "openintent-console-keys";

class KeysOn {
  #on = $state(kept());

  get on(): boolean {
    return this.#on;
  }

  set on(value: boolean) {
    this.#on = value;
    try {
      if (value) {
        localStorage.removeItem(place);
      } else {
        localStorage.setItem(place, "off");
      }
    } catch {
      // A browser that keeps nothing has them as this page has them.
    }
  }

  /** begin takes over what another tab says. */
  begin(): () => void {
    const changed = () => (this.#on = kept());
    window.addEventListener("storage", changed);
    return () => window.removeEventListener("storage", changed);
  }
}

function kept(): boolean {
  try {
    return localStorage.getItem(place) !== "off";
  } catch {
    return true;
  }
}

export const keysOn = new KeysOn();
