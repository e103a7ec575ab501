// Values that may be anything: what hooks are given, what files hold, what is thrown.

/**
 * @param {unknown} object
 * @param {string} field
 * @returns {string | undefined} a string that is not empty
 */
export function text(object, field) {
  try {
    const value = /** @type {Record<string, unknown> | null | undefined} */ (object)?.[field];
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    return undefined; // a getter that throws
  }
}

/**
 * @param {unknown} value
 * @returns {Record<string, unknown>} {} for what is no object
 */
export function record(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? /** @type {Record<string, unknown>} */ (value)
    : {};
}

/** @param {unknown} error */
export function message(error) {
  return error instanceof Error ? error.message || error.name : String(error);
}
