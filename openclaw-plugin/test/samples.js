// Events captured from a real gateway.

import { readFileSync, readdirSync } from "node:fs";

const directory = new URL("../../testdata/openclaw/", import.meta.url);

/**
 * @typedef {{hook: string, scenario: string, event: any, ctx: any}} Sample
 */

/**
 * All samples, or those of one hook.
 *
 * @param {string} [hook]
 * @returns {Sample[]}
 */
export function samples(hook) {
  const files = hook === undefined ? readdirSync(directory).filter((name) => name.endsWith(".json")) : [`${hook}.json`];
  return files.flatMap((name) => JSON.parse(readFileSync(new URL(name, directory), "utf8")));
}
