// Answers questions until it is told to end: responder.mjs PACKAGE, where PACKAGE is the built entry of the TypeScript SDK.
const { Agent } = await import(process.argv[2]);

const agent = new Agent({ id: "typescript-responder", role: "arithmetic" });
agent.onMessage("sums", (message) => {
  if (message.payload.n === 3) {
    throw new Error("three is too many");
  }
  return { double: 2 * message.payload.n, text: message.payload.text };
});
await agent.run();
