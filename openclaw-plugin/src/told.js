// What is told of a tool call: what a session keeps of it (contract §8), not the whole result.

import { cut } from "./encode.js";
import { globOf } from "./eligibility.js";
import { attempt, field, record, text } from "./values.js";

/** Characters of a result's text. A session shows 200; redaction needs what stands around them. */
const RESULT_CHARS = 1000;

/** Characters of a SKILL.md that are searched for the end of its front matter, whose name a session keeps. */
const MATTER_CHARS = 16_384;

/** Bytes for the values of a call. */
export const CALL_BOUNDS = { params: 4096, error: 4096 };

/** Fields of the event that are told beside the result. */
const FIELDS = ["toolName", "params", "runId", "toolCallId", "durationMs", "error", "agentId", "sessionKey", "sessionId"];

/**
 * The event of a tool call without what nobody keeps: of the result its text stays, when it is a string,
 * or its first text part, up to {@link RESULT_CHARS}; of a skill that was read its front matter.
 *
 * @param {unknown} event of after_tool_call
 * @param {string[]} whole tools of which the operator wants whole results, as globs
 * @returns {unknown}
 */
export function toldCall(event, whole) {
  const tool = text(event, "toolName") ?? "";
  /** @type {Record<string, unknown>} */
  const out = {};
  for (const name of FIELDS) {
    const value = field(event, name);
    if (value !== undefined) out[name] = value;
  }
  const result = field(event, "result");
  if (whole.some((pattern) => globOf(pattern).test(tool))) return { ...out, result };
  const said = attempt(() => textOf(result));
  if (said === undefined) return out;
  const chars = readsSkill(tool, out.params) ? Math.max(RESULT_CHARS, matterEnd(said)) : RESULT_CHARS;
  const kept = cut(said, chars);
  return { ...out, result: typeof result === "string" ? kept : { content: [{ type: "text", text: kept }] } };
}

/**
 * @param {unknown} result
 * @returns {string | undefined}
 */
function textOf(result) {
  if (typeof result === "string") return result;
  const content = Array.isArray(result) ? result : field(result, "content");
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const part = content.find((one) => text(one, "type") === "text" && typeof field(one, "text") === "string");
  return part === undefined ? undefined : String(field(part, "text"));
}

/**
 * Reports whether a call reads a skill (contract §8).
 *
 * @param {string} tool
 * @param {unknown} params
 */
function readsSkill(tool, params) {
  const path = text(record(params), "path") ?? text(record(params), "file_path") ?? "";
  return tool.toLowerCase() === "read" && path.endsWith("SKILL.md");
}

/**
 * Where the front matter of a file ends, with its closing line; 0 without any.
 *
 * @param {string} file
 */
function matterEnd(file) {
  if (!/^\uFEFF?---\r?\n/.test(file)) return 0;
  const end = file.slice(0, MATTER_CHARS).indexOf("\n---", 3);
  return end < 0 ? 0 : end + "\n---".length + "...(truncated)".length;
}
