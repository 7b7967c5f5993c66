import { asOperator, get } from "./client.ts";

/** How the server does that answers. */
export interface Server {
  version: string;
  commit: string;
  started_at: string;
  replica: string;
  replicas: { name: string; seen_at: string }[];
  database: { engine: string; stores: boolean };
  figures: Figure[];
  settings: { name: string; value: string; is_default: boolean }[];
}

/** Something that the server counts. What rises and falls has no rate. */
export interface Figure {
  name: string;
  value: number;
  per_second: number | null;
}

export function getServer(signal?: AbortSignal): Promise<Server> {
  return get<Server>("v1/server", undefined, signal, asOperator());
}
