// How a script asks the test that has started it for what only the test can do: to send at an even pace, or to kill the server.

/** steer asks for one act and returns its answer. */
export async function steer(act, query = {}) {
  const response = await fetch(`${process.env.STEERING}/${act}?${new URLSearchParams(query)}`, { method: "POST" });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${act}: ${text}`);
  }
  return JSON.parse(text);
}
