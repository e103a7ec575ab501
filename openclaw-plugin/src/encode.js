// Encodes any value as JSON of a bounded size, in one pass.

/**
 * @typedef {object} Limits
 * @property {number} depth levels of objects and arrays
 * @property {number} values values in total
 * @property {number} chars length of a string, in UTF-16 units
 * @property {number} bytes length of the whole
 */

/** @type {Limits} */
export const DEFAULT_LIMITS = { depth: 32, values: 100_000, chars: 262_144, bytes: Number.MAX_SAFE_INTEGER };

const CUT = "...(truncated)";

/** What a long string is cut to, in UTF-16 units, when it does not fit: the first that takes half of the room at most. */
const CUTS = [32_768, 4096, 1024, 256];

/** Strings up to this many bytes, ids above all, may use the room that long ones have to leave. */
const SHORT = 256;

/** What long strings leave for what comes after them, in bytes. */
const MAX_RESERVE = 1024;

/** Bytes that a field needs at least: `"a":1,`. With less left nothing more is tried. */
const LEAST = 6;

/**
 * How a value is encoded.
 *
 * @typedef {object} Rules
 * @property {(key: string, depth: number) => boolean} [drop] reports whether to leave out a field
 * @property {Record<string, number>} [bounds] bytes for the values of fields of the outermost object
 * @property {boolean} [whole] nothing is cut for the bound: what does not fit is undefined
 */

/** Ends an encoding that has to be whole. */
const FULL = Symbol("full");

/**
 * Encodes a value. Functions, symbols, signals, cycles and unreadable fields are left out, a BigInt
 * becomes its digits, binary data its size. It stops at the bound: long strings are cut, and what comes
 * after it is left out. It never throws.
 *
 * @param {unknown} value
 * @param {Limits} [limits]
 * @param {Rules} [rules]
 * @returns {{json: string, bytes: number} | undefined} undefined when nothing can be kept
 */
export function encode(value, limits = DEFAULT_LIMITS, rules = {}) {
  const encoder = new Encoder(limits, rules);
  try {
    const json = encoder.value(value, 0);
    return json === undefined ? undefined : { json, bytes: limits.bytes - encoder.room };
  } catch {
    return undefined; // FULL, or a proxy that throws
  }
}

class Encoder {
  /** @type {Set<object>} */
  #open = new Set();
  #left;
  #reserve;

  /**
   * @param {Limits} limits
   * @param {Rules} rules
   */
  constructor(limits, { drop, bounds, whole = false }) {
    this.limits = limits;
    this.drop = drop;
    this.bounds = bounds;
    this.whole = whole;
    /** Bytes that are left. */
    this.room = limits.bytes;
    this.#left = limits.values;
    this.#reserve = Math.min(MAX_RESERVE, limits.bytes / 4);
  }

  /**
   * Encodes a value and takes its bytes from the room.
   *
   * @param {unknown} v
   * @param {number} depth
   * @returns {string | undefined}
   */
  value(v, depth) {
    if (this.#left <= 0) return undefined;
    this.#left--;
    switch (typeof v) {
      case "string":
        return this.#string(v);
      case "number":
        return this.#take(Number.isFinite(v) ? String(v) : "null");
      case "boolean":
        return this.#take(String(v));
      case "bigint":
        return this.#string(v.toString());
      case "object":
        return v === null ? this.#take("null") : this.#object(v, depth);
      default:
        return undefined; // functions, symbols, undefined
    }
  }

  /**
   * @param {string} json
   * @param {number} [bytes]
   */
  #take(json, bytes = json.length) {
    if (bytes > this.room) {
      if (this.whole) throw FULL;
      return undefined;
    }
    this.room -= bytes;
    return json;
  }

  /** @param {string} s */
  #string(s) {
    const text = cut(s, this.limits.chars);
    const spare = this.whole || text.length <= SHORT ? this.room : this.room - this.#reserve;
    if (text.length + 2 <= spare) {
      const json = JSON.stringify(text);
      const bytes = Buffer.byteLength(json);
      if (bytes <= spare) return this.#take(json, bytes);
    }
    if (this.whole) throw FULL;
    for (const chars of CUTS) {
      if (chars >= text.length || chars + 2 > this.room / 2) continue;
      const json = JSON.stringify(cut(text, chars));
      const bytes = Buffer.byteLength(json);
      if (bytes <= this.room / 2) return this.#take(json, bytes);
    }
    return undefined;
  }

  /**
   * @param {object} v
   * @param {number} depth
   * @returns {string | undefined}
   */
  #object(v, depth) {
    if (depth >= this.limits.depth || this.#open.has(v) || isLive(v)) return undefined;
    if (v instanceof Date) return this.#take(Number.isNaN(v.getTime()) ? "null" : `"${v.toISOString()}"`);
    if (ArrayBuffer.isView(v) || v instanceof ArrayBuffer) return this.#take(`"(${v.byteLength} bytes)"`);
    if (v instanceof URL || v instanceof RegExp) return this.#string(String(v));
    if (this.#take("{}") === undefined) return undefined;
    this.#open.add(v);
    try {
      if (Array.isArray(v)) return this.#list(v, depth);
      if (v instanceof Set) return this.#list([...v], depth);
      if (v instanceof Map) return this.#fields([...v.keys()].map(String), (key) => v.get(key), depth);
      const keys = Object.keys(v);
      // An error's name and message are not enumerable.
      if (v instanceof Error) keys.unshift(...["name", "message"].filter((key) => !keys.includes(key)));
      return this.#fields(keys, (key) => /** @type {Record<string, unknown>} */ (v)[key], depth);
    } finally {
      this.#open.delete(v);
    }
  }

  /**
   * @param {unknown[]} v
   * @param {number} depth
   */
  #list(v, depth) {
    let out = "";
    for (let i = 0; i < v.length && this.#left > 0 && this.#goes; i++) {
      const comma = i > 0 ? "," : "";
      const element = this.#attempt(() => this.#after(comma, () => this.value(v[i], depth + 1))) ?? this.#take(`${comma}null`);
      if (element === undefined) break;
      out += element;
    }
    return `[${out}]`;
  }

  /**
   * @param {string[]} keys
   * @param {(key: string) => unknown} get
   * @param {number} depth
   */
  #fields(keys, get, depth) {
    let out = "";
    for (const key of keys) {
      if (this.#left <= 0 || !this.#goes) break;
      if (this.drop?.(key, depth)) continue;
      const bound = depth === 0 ? this.bounds?.[key] : undefined;
      const field = this.#attempt(() => this.#within(bound, () => {
        const name = `${out === "" ? "" : ","}${JSON.stringify(cut(key, this.limits.chars))}:`;
        return this.#after(name, () => this.value(get(key), depth + 1));
      }));
      if (field !== undefined) out += field;
    }
    return `{${out}}`;
  }

  /**
   * @param {string} json that stands in front
   * @param {() => string | undefined} encoded
   */
  #after(json, encoded) {
    if (this.#take(json, Buffer.byteLength(json)) === undefined) return undefined;
    const more = encoded();
    return more === undefined ? undefined : json + more;
  }

  /** Whether more may fit. */
  get #goes() {
    return this.whole || this.room >= LEAST;
  }

  /**
   * Encodes something in less room.
   *
   * @param {number | undefined} bytes
   * @param {() => string | undefined} encoded
   */
  #within(bytes, encoded) {
    if (bytes === undefined || bytes >= this.room) return encoded();
    const others = this.room - bytes;
    const reserve = this.#reserve;
    this.room = bytes;
    this.#reserve = Math.min(MAX_RESERVE, bytes / 4);
    try {
      return encoded();
    } finally {
      this.room += others;
      this.#reserve = reserve;
    }
  }

  /**
   * Gives back the room of what turned out to be nothing, or threw.
   *
   * @param {() => string | undefined} encoded
   */
  #attempt(encoded) {
    const { room } = this;
    let json;
    try {
      json = encoded();
    } catch (error) {
      if (error === FULL) throw error;
      // Otherwise a getter or a proxy that throws.
    }
    if (json === undefined) this.room = room;
    return json;
  }
}

/**
 * Reports whether an object has a meaning in this process only.
 *
 * @param {object} v
 */
function isLive(v) {
  return (
    v instanceof AbortSignal ||
    v instanceof AbortController ||
    v instanceof Promise ||
    v instanceof WeakMap ||
    v instanceof WeakSet ||
    v instanceof WeakRef
  );
}

/**
 * Cuts a string to a number of UTF-16 units without splitting a surrogate pair.
 *
 * @param {string} s
 * @param {number} chars
 */
export function cut(s, chars) {
  if (s.length <= chars) return s;
  let end = Math.max(0, chars - CUT.length);
  const last = s.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end--;
  return s.slice(0, end) + CUT;
}
