import type { ScenarioFile, Values } from "./scenario.js";

/** Fields of `with` that hold names of agents or roles. */
const named = ["to", "sender", "members", "agent", "mentions"];

/** Makes the names of a scenario's agents and roles unique to the run, and turns them back. */
export class Names {
  readonly #known = new Set<string>();

  constructor(
    scenario: ScenarioFile,
    readonly run: string,
  ) {
    for (const agent of scenario.agents ?? []) {
      this.#add(agent.id, agent.role);
    }
    for (const step of scenario.steps) {
      this.#add(step.as);
      if (step.do === "register") {
        this.#add(step.with?.["role"]);
      }
      if (step.do === "start_agent") {
        this.#add(step.with?.["agent"]?.id, step.with?.["agent"]?.role);
      }
    }
  }

  #add(...names: (string | undefined)[]): void {
    names.forEach((name) => name !== undefined && this.#known.add(name));
  }

  /** The name as the server gets it. */
  own(name: string): string {
    const role = name.startsWith("role:");
    const bare = role ? name.slice("role:".length) : name;
    return this.#known.has(bare) ? `${name}-${this.run}` : name;
  }

  /** The fields of a step with the names in them as the server gets them. */
  within(fields: Values): Values {
    const changed = { ...fields };
    for (const field of named) {
      const value = changed[field];
      if (typeof value === "string") {
        changed[field] = this.own(value);
      } else if (Array.isArray(value)) {
        changed[field] = value.map((name: string) => this.own(name));
      }
    }
    if (Array.isArray(changed["entries"])) {
      changed["entries"] = changed["entries"].map((entry: Values) => ({ ...entry, agent: this.own(entry["agent"]) }));
    }
    return changed;
  }

  /** A result with the names as the scenario has them. */
  plain(value: any): any {
    if (typeof value === "string") {
      return value.replaceAll(`-${this.run}`, "");
    }
    if (Array.isArray(value)) {
      return value.map((item) => this.plain(item));
    }
    if (typeof value === "object" && value !== null && !(value instanceof Date)) {
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.plain(member)]));
    }
    return value;
  }
}

/** What a scenario's references refer to. */
export type Saved = Map<string, any>;

const reference = /\$\{([^}]+)\}/g;

/** A value with its references replaced. One that is only a reference takes the type of what it refers to. */
export function resolve(value: any, saved: Saved): any {
  if (typeof value === "string") {
    const whole = /^\$\{([^}]+)\}$/.exec(value);
    return whole ? lookUp(whole[1]!, saved) : value.replace(reference, (_, path: string) => String(lookUp(path, saved)));
  }
  if (Array.isArray(value)) {
    return value.map((item) => resolve(item, saved));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolve(member, saved)]));
  }
  return value;
}

function lookUp(path: string, saved: Saved): any {
  const [name, ...members] = path.split(".");
  if (!saved.has(name!)) {
    throw new Error(`Nothing is saved under ${name}.`);
  }
  let found = saved.get(name!);
  for (const member of members) {
    found = found?.[member];
  }
  if (found === undefined) {
    throw new Error(`There is no ${path}.`);
  }
  return found;
}

/** A result of this package under the names of the scenarios. It leaves the agents' own JSON as it is. */
export function snaked(value: any): any {
  if (Array.isArray(value)) {
    return value.map(snaked);
  }
  if (typeof value !== "object" || value === null || value instanceof Date) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase()),
      ["payload", "metadata", "state", "constraints"].includes(name) ? member : snaked(member),
    ]),
  );
}
