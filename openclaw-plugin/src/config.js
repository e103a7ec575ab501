// The plugin's options, in an object that the consumer can read too (HINT_CONFIG, contract §9).

import { readFileSync } from "node:fs";

import { record } from "./values.js";

const manifest = JSON.parse(readFileSync(new URL("../openclaw.plugin.json", import.meta.url), "utf8"));

/** @type {string} */
export const VERSION = manifest.version;

/**
 * The options that the plugin itself uses, with defaults filled in.
 *
 * @typedef {object} Options
 * @property {boolean} enabled
 * @property {string[]} natsUrl
 * @property {number} natsPort port on this machine, used when natsUrl is empty
 * @property {string} natsCreds
 * @property {string} natsNkey
 * @property {string} natsCa
 * @property {string} natsCert
 * @property {string} natsKey
 * @property {string} natsInboxPrefix
 * @property {string} subjectPrefix
 * @property {string} stream empty for whichever stream takes the events
 * @property {number} timeoutMs
 * @property {import("./payload.js").History} history
 * @property {{include: string[], exclude: string[], decide: string[], failClosed: string[]}} hooks
 * @property {{events: number, bytes: number, eventBytes: number}} buffer
 * @property {{lateAnswers: number, pauseMs: number}} breaker
 * @property {import("./eligibility.js").Rules} rules which turns get hints
 * @property {{enabled: boolean, timeoutMs: number, groups: string[], excludeGroups: string[], history: boolean}} triage history: the gate reads what was said before
 * @property {{enabled: boolean, submittedBy: string, recall: boolean, extraction: string}} knowhub extraction is the hook whose messages are read, or ""
 */

/** Hooks that are published as events unless hooks.include says otherwise. */
const DEFAULT_INCLUDE = manifest.configSchema.properties.hooks.properties.include.default;

/** The most user turns that a consumer looks at with queryMode recent (contract §9). */
const WINDOW_TURNS = 20;

/**
 * Reads the options. A missing or invalid value becomes the default, without an error: the gateway
 * has already checked the object against the manifest's schema.
 *
 * @param {unknown} raw the plugin's config object
 * @param {(path: string) => string} [resolvePath]
 * @param {string} [mainKey] the gateway's session.mainKey
 * @returns {Options}
 */
export function readOptions(raw, resolvePath = (path) => path, mainKey = "") {
  const o = record(raw);
  const history = record(o.history);
  const hooks = record(o.hooks);
  const buffer = record(o.buffer);
  const breaker = record(o.breaker);
  const triage = record(o.triage);
  const knowhub = record(o.knowhub);
  const file = (/** @type {unknown} */ value) => (string(value) === "" ? "" : resolvePath(string(value)));
  return {
    enabled: o.enabled !== false,
    natsUrl: list(o.natsUrl),
    natsPort: Math.max(0, number(o.natsPort, 0, -1, 65_535)) || 4222,
    natsCreds: file(o.natsCreds),
    natsNkey: file(o.natsNkey),
    natsCa: file(o.natsCa),
    natsCert: file(o.natsCert),
    natsKey: file(o.natsKey),
    natsInboxPrefix: string(o.natsInboxPrefix),
    subjectPrefix: string(o.subjectPrefix) || "openclaw",
    stream: string(o.stream),
    timeoutMs: number(o.timeoutMs, 3000, 500, 60_000),
    history: {
      turns: turns(history.turns, string(o.queryMode)),
      bytes: number(history.bytes, 262_144, 0, Number.MAX_SAFE_INTEGER),
      textOnly: history.tools !== true,
    },
    hooks: {
      include: hooks.include === undefined ? DEFAULT_INCLUDE : list(hooks.include),
      exclude: list(hooks.exclude),
      decide: list(hooks.decide),
      failClosed: list(hooks.failClosed),
    },
    buffer: {
      events: number(buffer.events, 2000, 1, 1_000_000),
      bytes: number(buffer.bytes, 16_777_216, 1, Number.MAX_SAFE_INTEGER),
      eventBytes: number(buffer.eventBytes, 262_144, 4096, Number.MAX_SAFE_INTEGER),
    },
    breaker: {
      lateAnswers: number(breaker.lateAnswers, 3, 1, 1000),
      pauseMs: number(breaker.pauseMs, 30_000, 0, 3_600_000),
    },
    rules: {
      agents: given(o.agents, ["*"]),
      allowedChatTypes: given(o.allowedChatTypes, ["direct"]),
      allowedChatIds: list(o.allowedChatIds),
      deniedChatIds: list(o.deniedChatIds),
      mainKey: string(o.mainKey) || mainKey || "main",
    },
    triage: {
      enabled: triage.enabled === true,
      timeoutMs: number(triage.timeoutMs, 5000, 1, 600_000),
      groups: list(triage.groups),
      excludeGroups: list(triage.excludeGroups),
      history: number(triage.historyCount, 0, 0, 20) > 0 || triage.local === true,
    },
    knowhub: {
      enabled: knowhub.enabled === true,
      submittedBy: string(knowhub.submittedBy),
      recall: knowhub.enabled === true && number(knowhub.recall, 0, 0, Number.MAX_SAFE_INTEGER) > 0,
      extraction: knowhub.enabled === true && knowhub.enableServerExtraction === true ? string(knowhub.extractionTrigger) || "agent_end" : "",
    },
  };
}

/**
 * Names that are options of neither the plugin nor the consumer: typos, mostly.
 *
 * @param {unknown} raw
 * @returns {string[]}
 */
export function unknownOptions(raw) {
  return Object.keys(record(raw)).filter((name) => !(name in manifest.configSchema.properties));
}

/**
 * The number of turns of history to send: none when the consumer classifies the message alone, all
 * when it reads the whole conversation.
 *
 * @param {unknown} given
 * @param {string} queryMode
 */
function turns(given, queryMode) {
  if (queryMode === "message") return 0;
  return number(given, queryMode === "full" ? Number.MAX_SAFE_INTEGER : WINDOW_TURNS, 0, Number.MAX_SAFE_INTEGER);
}

/** @param {unknown} value */
function string(value) {
  return typeof value === "string" ? value.trim() : "";
}

/**
 * A list, or a comma-separated string.
 *
 * @param {unknown} value
 */
function list(value) {
  const items = Array.isArray(value) ? value : string(value).split(",");
  return items.map((item) => string(item)).filter((item) => item !== "");
}

/**
 * A list with a default: only a list that is there and empty holds nothing.
 *
 * @param {unknown} value
 * @param {string[]} otherwise
 */
function given(value, otherwise) {
  const items = list(value);
  return items.length > 0 || Array.isArray(value) ? items : otherwise;
}

/**
 * A number clamped to its limits; a numeric string counts, as it does for the consumer.
 *
 * @param {unknown} value
 * @param {number} otherwise
 * @param {number} lowest
 * @param {number} highest
 */
function number(value, otherwise, lowest, highest) {
  const n = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof n !== "number" || !Number.isFinite(n)) return otherwise;
  return Math.min(highest, Math.max(lowest, Math.trunc(n)));
}
