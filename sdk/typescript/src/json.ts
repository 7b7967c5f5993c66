import { PayloadError } from "./errors.js";
import type { JsonObject, JsonValue } from "./types.js";

/** How deep the server lets objects be nested. */
const maxDepth = 64;

/**
 * Returns the plain JSON object of a payload, as JSON.stringify would write it. It refuses what JSON.stringify would
 * silently drop or change (NaN, infinities, functions, symbols), with its place, and anything but an object. It refuses a
 * lone surrogate too, since it would arrive as another character.
 *
 * @throws PayloadError
 */
export function toJsonObject(value: unknown, field: string): JsonObject {
  const plain = toJson(value, field, 0);
  if (plain === null || typeof plain !== "object" || Array.isArray(plain)) {
    throw new PayloadError(field, "must be an object; wrap other values in one");
  }
  return plain;
}

/** Whether a value is a plain object that may serve as metadata or the like. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toJson(value: unknown, path: string, depth: number): JsonValue {
  switch (typeof value) {
    case "string":
      if (/\p{Surrogate}/u.test(value)) {
        throw new PayloadError(path, "holds a lone surrogate, which no JSON text may");
      }
      return value;
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) {
        throw new PayloadError(path, "must be a finite number");
      }
      return value;
    case "object":
      break;
    default:
      throw new PayloadError(path, `cannot be a ${typeof value}; JSON has no such value`);
  }
  if (value === null) {
    return null;
  }
  if (depth > maxDepth) {
    throw new PayloadError(path, `is nested deeper than ${maxDepth} levels, or holds itself`);
  }
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return toJson(value.toJSON(), path, depth + 1);
  }
  if (Array.isArray(value)) {
    return value.map((item, i) => (item === undefined ? null : toJson(item, `${path}[${i}]`, depth + 1)));
  }
  const plain: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) {
      continue;
    }
    const json = toJson(member, `${path}.${name}`, depth + 1);
    if (name === "__proto__") {
      // Assigning to it would change the object's prototype, not its members.
      Object.defineProperty(plain, name, { value: json, enumerable: true, configurable: true, writable: true });
    } else {
      plain[name] = json;
    }
  }
  return plain;
}
