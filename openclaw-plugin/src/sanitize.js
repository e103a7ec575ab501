// Copies any value as JSON values, limited in depth, number and length.

/**
 * @typedef {object} Limits
 * @property {number} depth levels of objects and arrays
 * @property {number} values values in total
 * @property {number} chars length of a string, in UTF-16 units
 */

/** @type {Limits} */
export const DEFAULT_LIMITS = { depth: 32, values: 100_000, chars: 262_144 };

const CUT = "...(truncated)";

/**
 * Copies a value so that JSON.stringify takes it. Functions, symbols, signals, cycles and unreadable
 * fields are left out, a BigInt becomes its digits, binary data its size, and what exceeds the limits
 * is cut. It never throws.
 *
 * @param {unknown} value
 * @param {Limits} [limits]
 * @param {(key: string, depth: number) => boolean} [drop] reports whether to leave out a field
 * @returns {unknown} undefined when nothing can be kept
 */
export function sanitize(value, limits = DEFAULT_LIMITS, drop = () => false) {
  let left = limits.values;
  /** @type {Set<object>} */
  const open = new Set();

  /**
   * @param {unknown} v
   * @param {number} depth
   * @returns {unknown}
   */
  function copy(v, depth) {
    if (left <= 0) return undefined;
    left--;
    switch (typeof v) {
      case "string":
        return cut(v, limits.chars);
      case "number":
        return Number.isFinite(v) ? v : null;
      case "boolean":
        return v;
      case "bigint":
        return cut(v.toString(), limits.chars);
      case "object":
        return v === null ? null : object(v, depth);
      default:
        return undefined; // functions, symbols, undefined
    }
  }

  /**
   * @param {object} v
   * @param {number} depth
   * @returns {unknown}
   */
  function object(v, depth) {
    if (depth >= limits.depth || open.has(v) || isLive(v)) return undefined;
    if (v instanceof Date) return Number.isNaN(v.getTime()) ? null : v.toISOString();
    if (ArrayBuffer.isView(v) || v instanceof ArrayBuffer) return `(${v.byteLength} bytes)`;
    if (v instanceof URL || v instanceof RegExp) return cut(String(v), limits.chars);
    open.add(v);
    try {
      if (Array.isArray(v)) return list(v, depth);
      if (v instanceof Set) return list([...v], depth);
      if (v instanceof Map) return fields([...v.keys()].map(String), (key) => v.get(key), depth);
      const keys = Object.keys(v);
      // An error's name and message are not enumerable.
      if (v instanceof Error) keys.unshift(...["name", "message"].filter((key) => !keys.includes(key)));
      return fields(keys, (key) => /** @type {Record<string, unknown>} */ (v)[key], depth);
    } finally {
      open.delete(v);
    }
  }

  /**
   * @param {unknown[]} v
   * @param {number} depth
   */
  function list(v, depth) {
    const out = [];
    for (let i = 0; i < v.length; i++) {
      if (left <= 0) break;
      const element = attempt(() => copy(v[i], depth + 1));
      out.push(element === undefined ? null : element);
    }
    return out;
  }

  /**
   * @param {string[]} keys
   * @param {(key: string) => unknown} get
   * @param {number} depth
   */
  function fields(keys, get, depth) {
    /** @type {Record<string, unknown>} */
    const out = {};
    for (const key of keys) {
      if (left <= 0) break;
      if (drop(key, depth)) continue;
      const value = attempt(() => copy(get(key), depth + 1));
      if (value === undefined) continue;
      // Not by assignment: "__proto__" is an ordinary field here.
      Object.defineProperty(out, key, { value, enumerable: true, configurable: true, writable: true });
    }
    return out;
  }

  return attempt(() => copy(value, 0));
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

/**
 * @template T
 * @param {() => T} read
 * @returns {T | undefined}
 */
function attempt(read) {
  try {
    return read();
  } catch {
    return undefined; // a getter or a proxy that throws
  }
}
