import type { Agent } from "../agent/agent.js";
import type { JsonObject } from "../types.js";
import { Playing } from "./playing.js";
import { plain } from "./record.js";
import type { Server } from "./server.js";
import { loadStory, type Report, type Story } from "./story-form.js";

/** How a story is played. */
export interface PlayOptions {
  /** The agent, made with the server's `options`, which the test does not run itself. */
  readonly agent: Agent;
  readonly server: Server;
  /** Whether a payload will do in place of the one in the record; they must be equal unless given. */
  readonly matches?: (recorded: JsonObject, said: JsonObject) => boolean;
}

/**
 * Plays a story with an agent: the test says what all others said, in the record's order and after the record's times by the test's clock,
 * and the agent does what it does. While the agent is at work, the story waits for what it should say, at most 5 seconds at a time.
 */
export async function play(story: Story, { agent, server, matches = equal }: PlayOptions): Promise<Report> {
  const [head, lines] = loadStory(story);
  const leaving = new AbortController();
  const playing = new Playing(server, head, lines, agent.id, matches);
  await playing.prepare();
  const running = agent.run({ signal: leaving.signal });
  await agent.started();
  try {
    return await playing.play();
  } finally {
    leaving.abort();
    await running;
  }
}

function equal(recorded: JsonObject, said: JsonObject): boolean {
  return plain(recorded) === plain(said);
}
