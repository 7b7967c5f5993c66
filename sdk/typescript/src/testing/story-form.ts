import { readFileSync } from "node:fs";
import type { Collect } from "../conversation-types.js";
import type { JsonObject } from "../types.js";
import type { Said } from "./record.js";

/** The first line of a story: where the messages were sent, and who took part. */
export interface StoryHead {
  readonly story: 1;
  readonly title: string;
  readonly channels: readonly { readonly name: string; readonly member_policy: "intent" | "explicit"; readonly members?: readonly string[] }[];
  readonly agents: readonly { readonly id: string; readonly role?: string }[];
}

/** A message of a story, as `openintent export INTENT --story` writes it. */
export interface StoryLine {
  readonly id: string;
  readonly after_seconds: number;
  readonly channel: string;
  readonly sender: string;
  readonly to?: string;
  readonly message_type: string;
  readonly payload: JsonObject;
  readonly metadata?: JsonObject;
  readonly answers?: string;
  readonly parent?: string;
  readonly subject?: string;
  readonly kind?: string;
  readonly priority?: string;
  readonly mentions?: readonly string[];
  readonly collect?: Collect;
  readonly blocks?: string;
  /** How many seconds a request could be answered. */
  readonly seconds?: number;
  /** The agents that did something with it. */
  readonly woken?: readonly string[];
}

/** A story: the path of its file, or its lines. */
export type Story = string | readonly [StoryHead, ...StoryLine[]];

/**
 * One thing that is otherwise than in the record: the agent said something else, or something more; it did not say something; or a message
 * woke it that did not wake it in the record, or the other way round.
 */
export interface Difference {
  readonly kind: "said" | "not_said" | "woken";
  readonly text: string;
  /** The line that it is about; null for none. */
  readonly recorded: StoryLine | null;
  /** What the agent said; null for nothing. */
  readonly said: Said | null;
}

/** What came of a story. */
export interface Report {
  readonly differences: Difference[];
  /** Lines that could not be played, because they answer what was not said. */
  readonly leftOut: StoryLine[];
}

/** Reads a story. @throws Error for a file that has none */
export function loadStory(story: Story): readonly [StoryHead, readonly StoryLine[]] {
  const lines: any[] =
    typeof story === "string"
      ? readFileSync(story, "utf8")
          .split("\n")
          .filter((line) => line.trim() !== "")
          .map((line) => JSON.parse(line))
      : [...story];
  if (lines[0]?.story !== 1) {
    throw new Error("a story begins with a line that has story: 1; write one with: openintent export INTENT --story");
  }
  return [lines[0], lines.slice(1)];
}
