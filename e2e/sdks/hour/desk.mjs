// A new user's agent in TypeScript: desk.mjs PACKAGE, where PACKAGE is the built entry of the SDK.
const { Agent } = await import(process.argv[2]);

const agent = new Agent({ id: "typescript-agent" });
agent.onMessage("desk", (message) => {
  if (message.payload.fail) {
    throw new Error("the desk is on fire");
  }
  return { answer: "v2.3" };
});
await agent.run();
