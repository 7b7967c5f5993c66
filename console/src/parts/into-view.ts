/** intoView is an action that shows an element at once to whoever came by a link to it. */
export function intoView(node: HTMLElement, meant: boolean): void {
  if (meant) {
    node.scrollIntoView({ block: "nearest" });
  }
}
