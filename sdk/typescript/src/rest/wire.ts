import { connectionLost } from "../errors.js";
import { isObject } from "../json.js";

/** An object as JSON has it. */
export type Wire = Record<string, any>;

export function object(value: unknown): Wire {
  if (!isObject(value)) {
    throw connectionLost("The answer is not what the server sends; is something else at this address?");
  }
  return value;
}

/** Reads a list; `each` reads each of its entries. */
export function list<T>(value: unknown, each: (item: unknown) => T): T[] {
  if (!Array.isArray(value)) {
    throw connectionLost("The answer is not what the server sends; is something else at this address?");
  }
  return value.map(each);
}

export function date(value: unknown): Date | null {
  return typeof value === "string" ? new Date(value) : null;
}

export function requiredDate(value: unknown): Date {
  return date(value) ?? new Date(0);
}
