// Reads values of unknown type: arguments of hooks, contents of files, thrown errors.

/**
 * @param {unknown} object
 * @param {string} name
 * @returns {unknown} undefined when there is no such field
 */
export function field(object, name) {
  try {
    return /** @type {Record<string, unknown> | null | undefined} */ (object)?.[name];
  } catch {
    return undefined; // a getter that throws
  }
}

/**
 * @param {unknown} object
 * @param {string} name
 * @returns {string | undefined} the field when it is a non-empty string
 */
export function text(object, name) {
  const value = field(object, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * @param {unknown} value
 * @returns {Record<string, unknown>} {} when it is not an object
 */
export function record(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? /** @type {Record<string, unknown>} */ (value)
    : {};
}

/**
 * @template T
 * @param {() => T} read
 * @returns {T | undefined} undefined when it throws, as a revoked proxy does
 */
export function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** @param {unknown} error */
export function message(error) {
  return error instanceof Error ? error.message || error.name : String(error);
}
