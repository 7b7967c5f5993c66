import { get } from "../client/client.ts";

/** How people may sign in at this server. */
export interface Ways {
  api_key: boolean;
  /** The person at this machine may sign in as `you`, with the development key. */
  you: boolean;
  /** The identity provider that the server knows lets people in. */
  provider: boolean;
}

export function readWays(signal: AbortSignal): Promise<Ways> {
  return get<Ways>("console/ways", undefined, signal);
}

/** The key that a server on one's own machine has unless it is given others. */
export const developmentKey = "dev-key-001";
