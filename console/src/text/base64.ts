/** base64url writes bytes as keys of pushes are written: in base64 for addresses, without padding. */
export function base64url(bytes: ArrayBuffer): string {
  const letters = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
