import type { AgentServer } from "../../src/agent/server.js";

/** A server that records what it is told, and delivers nothing. */
export function fakeServer(methods: Partial<AgentServer>, told: string[] = []): AgentServer {
  return {
    async register() {
      told.push("register");
      return 30_000;
    },
    async heartbeat(status) {
      told.push(status);
      return { interval: 30_000, draining: false };
    },
    async deregister() {
      told.push("deregister");
    },
    createSubscription: async () => ({ id: "sub_1", createdAt: new Date(0), active: true }),
    findSubscription: async () => undefined,
    deleteSubscription: async () => {},
    async *deliveries(_id, _max, accepted, { signal }) {
      accepted();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    acknowledge: async () => {},
    confirm: async () => {},
    surface: async () => {},
    inbox: async () => ({ requests: [], nextCursor: undefined }),
    ...methods,
  };
}
