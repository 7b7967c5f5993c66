import type { Play } from "./play.js";
import { knowing, type Values } from "./scenario.js";

interface StepContext {
  play: Play;
  as: string | undefined;
  fields: Values;
  where: string;
  saveAs: string | undefined;
}

export type Step = (context: StepContext) => Promise<any>;

/** A step with the fields that it knows. */
export function step(known: readonly string[], perform: Step): Step {
  return async (context) => {
    knowing(known, context.fields, context.where);
    return perform(context);
  };
}
