// A page begins at its top, and one to which somebody comes back by the browser's history is where they left it. Pages lie in one box that
// scrolls, so browsers do neither.

/** For how long what is still being read may make a page long enough, in milliseconds. */
const patience = 3000;

/** Returning keeps how far down each page was. */
export class Returning {
  #tops = new Map<string, number>();
  #path = "";
  #end = () => {};

  /** left notes how far down the page is now. */
  left(top: number): void {
    this.#tops.set(this.#path, top);
  }

  /** show puts a page to its place; `back` is true if somebody came back to it. */
  show(box: HTMLElement, path: string, back: boolean): void {
    if (path === this.#path) {
      return;
    }
    this.#path = path;
    this.#end();
    const top = back ? (this.#tops.get(path) ?? 0) : 0;
    box.scrollTop = top;
    if (!box.contains(document.activeElement) || document.activeElement === document.body) {
      // So the keys that scroll do.
      box.focus({ preventScroll: true });
    }
    if (box.scrollTop < top && box.firstElementChild !== null) {
      this.#goOn(box, box.firstElementChild, top);
    }
  }

  /** #goOn goes on as the page grows, unless somebody scrolls meanwhile. */
  #goOn(box: HTMLElement, page: Element, top: number): void {
    const grown = new ResizeObserver(() => {
      box.scrollTop = top;
      if (box.scrollTop >= top) {
        this.#end();
      }
    });
    const late = setTimeout(() => this.#end(), patience);
    this.#end = () => {
      grown.disconnect();
      clearTimeout(late);
      box.removeEventListener("wheel", this.#end);
      this.#end = () => {};
    };
    box.addEventListener("wheel", this.#end);
    grown.observe(page);
  }
}
