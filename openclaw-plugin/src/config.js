// The plugin's options, in an object that the consumer can read too (HINT_CONFIG, contract §9).

import { readFileSync } from "node:fs";

import { cut } from "./encode.js";
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
 * @property {string} natsContext a context of the nats command line, by name or as a file; empty for the consumer's own
 * @property {string} natsCreds
 * @property {string} natsNkey
 * @property {string} natsCa
 * @property {string} natsCert
 * @property {string} natsKey
 * @property {boolean} natsTlsFirst
 * @property {string} natsInboxPrefix
 * @property {string} subjectPrefix
 * @property {string} stream empty for whichever stream takes the events
 * @property {number} timeoutMs
 * @property {import("./wire.js").History & {groupTurns: number}} history of a request; groupTurns in place of turns for a group with the triage gate
 * @property {{include: string[], exclude: string[], decide: string[], results: string[], failClosed: string[]}} hooks results: tools whose results are told whole, as globs
 * @property {boolean} usage whether the agent's use of its own model is told
 * @property {{events: number, bytes: number, eventBytes: number}} buffer
 * @property {{lateAnswers: number, pauseMs: number}} breaker
 * @property {import("./permits.js").Rules} rules which turns get hints
 * @property {{enabled: boolean, timeoutMs: number, groups: string[], excludeGroups: string[], history: boolean}} triage history: the gate reads what was said before
 * @property {{enabled: boolean, submittedBy: string, recall: boolean, extraction: string}} knowhub extraction is the hook whose messages are read, or ""
 */

/** Hooks that are published as events unless hooks.include says otherwise. */
const DEFAULT_INCLUDE = manifest.configSchema.properties.hooks.properties.include.default;

/** The turns of a group that the triage gate reads: which of the messages that it skipped the model has seen (contract §11). */
const GROUP_TURNS = 20;

/** The most that a turn waits in ms where the classifier in the consumer answers, with no model to wait for: it takes milliseconds. */
const LOCAL_MS = 500;

/** Turns beyond those that are read, as some turn out to hold nothing but a gateway's own words (contract §5). */
const SPARE_TURNS = 2;

/** Chat types of contract §4. */
const CHAT_TYPES = ["direct", "group", "channel", "explicit", "unknown"];

/**
 * What counts in place of a list of chats that cannot be read: no chat. Nothing leaves the gateway that
 * the operator may have wanted to keep there.
 */
const NOWHERE = ["(nowhere)"];

/** Reports whether a value counts as not set. @param {unknown} value */
const missing = (value) => value === undefined || value === null;

/**
 * Reads the options. It takes any value, as the manifest's schema does: a gateway does not start on a
 * configuration that a schema refuses. A number out of its range is clamped, and what cannot be used is
 * the default; {@link ignoredOptions} names both.
 *
 * @param {unknown} raw the plugin's config object
 * @param {(path: string) => string} [resolvePath]
 * @param {string} [mainKey] the gateway's session.mainKey
 * @returns {Options}
 */
export function readOptions(raw, resolvePath = (path) => path, mainKey = "") {
  return read(new Reader(raw), resolvePath, mainKey);
}

/**
 * What of the options is not used as it stands: names that are options of neither the plugin nor the
 * consumer (typos mostly, or options of a newer version), and values of the plugin's own options.
 *
 * @param {unknown} raw
 * @returns {string[]} each with what counts instead
 */
export function ignoredOptions(raw) {
  const reader = new Reader(raw);
  read(reader, (path) => path, "");
  return [...unknownNames(raw, manifest.configSchema, ""), ...reader.notes];
}

/**
 * @param {unknown} raw
 * @param {any} schema
 * @param {string} path
 * @returns {string[]}
 */
function unknownNames(raw, schema, path) {
  return Object.entries(record(raw)).flatMap(([name, value]) => {
    if (!Object.hasOwn(schema.properties, name)) return [`${path}${cut(name, 60)} is not known`];
    const inner = schema.properties[name];
    return inner.properties ? unknownNames(value, inner, `${path}${name}.`) : [];
  });
}

/**
 * @param {Reader} o
 * @param {(path: string) => string} resolvePath
 * @param {string} mainKey
 * @returns {Options}
 */
function read(o, resolvePath, mainKey) {
  const history = o.object("history");
  const hooks = o.object("hooks");
  const buffer = o.object("buffer");
  const breaker = o.object("breaker");
  const triage = o.object("triage");
  const knowhub = o.object("knowhub");
  const file = (/** @type {string} */ name) => {
    const path = o.text(name);
    return path === "" ? "" : resolvePath(path);
  };
  const context = o.text("natsContext");
  const queryMode = o.word("queryMode", ["message", "recent", "full"], "recent");
  const denied = o.list("deniedChatIds", [], { unusable: NOWHERE });
  const alone = o.values.classifier === "local" && missing(o.values.writer || undefined);
  const experiences = knowhub.flag("enabled", false);
  const extracts = knowhub.flag("enableServerExtraction", false) && experiences;
  const trigger = knowhub.word("extractionTrigger", ["agent_end", "before_compaction"], "agent_end");
  return {
    enabled: o.flag("enabled", true),
    natsUrl: o.list("natsUrl", []),
    natsPort: Math.max(0, o.number("natsPort", 0, -1, 65_535)) || 4222,
    natsContext: /[/\\]|\.json$/.test(context) ? resolvePath(context) : context,
    natsCreds: file("natsCreds"),
    natsNkey: file("natsNkey"),
    natsCa: file("natsCa"),
    natsCert: file("natsCert"),
    natsKey: file("natsKey"),
    natsTlsFirst: o.flag("natsTlsFirst", false),
    natsInboxPrefix: o.text("natsInboxPrefix"),
    subjectPrefix: o.text("subjectPrefix") || "openclaw",
    stream: o.text("stream"),
    timeoutMs: Math.min(o.number("timeoutMs", 3000, 500, 60_000), alone ? LOCAL_MS : Number.MAX_SAFE_INTEGER),
    history: {
      ...turns(history, queryMode, o.object("contextWindow")),
      bytes: history.number("bytes", 262_144, 0, Number.MAX_SAFE_INTEGER),
      textOnly: !history.flag("tools", false),
      answers: true,
    },
    hooks: {
      include: hooks.list("include", DEFAULT_INCLUDE),
      exclude: hooks.list("exclude", [], { unusable: ["*"] }),
      decide: hooks.list("decide", []),
      results: hooks.list("results", []),
      failClosed: hooks.list("failClosed", [], { unusable: ["before_tool_call"] }),
    },
    usage: o.flag("usage", false),
    buffer: {
      events: buffer.number("events", 2000, 1, 1_000_000),
      bytes: buffer.number("bytes", 16_777_216, 1, Number.MAX_SAFE_INTEGER),
      eventBytes: buffer.number("eventBytes", 262_144, 4096, Number.MAX_SAFE_INTEGER),
    },
    breaker: {
      lateAnswers: breaker.number("lateAnswers", 3, 1, 1000),
      pauseMs: breaker.number("pauseMs", 30_000, 0, 3_600_000),
    },
    rules: {
      agents: o.list("agents", ["*"], { filled: true, unusable: [] }),
      allowedChatTypes: o.list("allowedChatTypes", ["direct"], { filled: true, unusable: [], words: CHAT_TYPES }),
      allowedChatIds: denied === NOWHERE ? NOWHERE : o.list("allowedChatIds", [], { unusable: NOWHERE }),
      deniedChatIds: denied,
      mainKey: o.text("mainKey") || mainKey || "main",
    },
    triage: {
      enabled: triage.flag("enabled", false),
      timeoutMs: triage.number("timeoutMs", 5000, 1, 600_000),
      groups: triage.list("groups", [], { unusable: NOWHERE }),
      excludeGroups: triage.list("excludeGroups", [], { unusable: ["*"] }),
      history: triage.number("historyCount", 0, 0, 20) > 0 || triage.flag("local", false),
    },
    knowhub: {
      enabled: experiences,
      submittedBy: knowhub.text("submittedBy"),
      recall: knowhub.number("recall", 0, 0, Number.MAX_SAFE_INTEGER) > 0 && experiences,
      extraction: extracts ? trigger : "",
    },
  };
}

/**
 * The number of turns of history to send, of a chat and of a group that the triage gate is for: none
 * when the consumer classifies the message alone, all when it reads the whole conversation, else what
 * its window holds (contract §9).
 *
 * @param {Reader} history
 * @param {string} queryMode
 * @param {Reader} window
 * @returns {{turns: number, groupTurns: number}}
 */
function turns(history, queryMode, window) {
  const read = Math.max(window.object("user").number("turns", 5, 0, 20), window.object("assistant").number("turns", 3, 0, 10));
  const all = Number.MAX_SAFE_INTEGER;
  const given = history.number("turns", -1, 0, all);
  if (queryMode === "message") return { turns: 0, groupTurns: 0 };
  if (given >= 0) return { turns: given, groupTurns: given };
  if (queryMode === "full") return { turns: all, groupTurns: all };
  return { turns: read === 0 ? 0 : read + SPARE_TURNS, groupTurns: GROUP_TURNS };
}

/**
 * @param {unknown} value
 * @returns {value is string | Array<string | number>}
 */
function isList(value) {
  return typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string" || typeof item === "number"));
}

/** Reads the options of an object, and notes those that are not used as they stand. */
class Reader {
  /** @type {string[]} */
  notes;

  /**
   * @param {unknown} raw
   * @param {string} [path]
   * @param {string[]} [notes]
   */
  constructor(raw, path = "", notes = []) {
    this.values = record(raw);
    this.path = path;
    this.notes = notes;
  }

  /** @param {string} name of an object in this one */
  object(name) {
    const value = this.values[name];
    if (!missing(value) && record(value) !== value) this.#note(name, "is not an object: its defaults count");
    return new Reader(value, `${this.path}${name}.`, this.notes);
  }

  /** @param {string} name */
  text(name) {
    const value = this.values[name];
    if (!missing(value) && typeof value !== "string") this.#note(name, "is not a text: its default counts");
    return typeof value === "string" ? value.trim() : "";
  }

  /**
   * @param {string} name
   * @param {string[]} words
   * @param {string} otherwise
   */
  word(name, words, otherwise) {
    const given = this.text(name);
    if (given === "" || words.includes(given)) return given || otherwise;
    this.#note(name, `is none of ${words.join(", ")}: ${otherwise} counts`);
    return otherwise;
  }

  /**
   * A boolean; a word counts, as it does for the consumer.
   *
   * @param {string} name
   * @param {boolean} otherwise
   */
  flag(name, otherwise) {
    const value = this.values[name];
    if (typeof value === "boolean" || missing(value)) return value ?? otherwise;
    if (value === "true" || value === "1") return true;
    if (value === "false" || value === "0") return false;
    this.#note(name, `is not true or false: ${otherwise} counts`);
    return otherwise;
  }

  /**
   * A number clamped to its limits; a numeric text counts, as it does for the consumer.
   *
   * @param {string} name
   * @param {number} otherwise
   * @param {number} lowest
   * @param {number} highest
   */
  number(name, otherwise, lowest, highest) {
    const value = this.values[name];
    if (missing(value)) return otherwise;
    const n = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof n !== "number" || !Number.isFinite(n)) {
      this.#note(name, "is not a number: its default counts");
      return otherwise;
    }
    const used = Math.min(highest, Math.max(lowest, Math.trunc(n)));
    if (used !== n) this.#note(name, `is out of its range: ${used} counts`);
    return used;
  }

  /**
   * Texts, as a list or separated by commas; a number counts as its digits.
   *
   * @param {string} name
   * @param {string[]} otherwise
   * @param {object} [more]
   * @param {string[]} [more.unusable] what counts when the value is something else; the default without it
   * @param {boolean} [more.filled] whether blank text is the default, and not an empty list
   * @param {string[]} [more.words] that it may hold
   * @returns {string[]}
   */
  list(name, otherwise, { unusable = otherwise, filled = false, words } = {}) {
    const value = this.values[name];
    if (missing(value)) return otherwise;
    if (!isList(value)) {
      this.#note(name, `is not a list of texts: ${unusable === otherwise ? "its default" : unusable.join(", ") || "nothing"} counts`);
      return unusable;
    }
    const items = (Array.isArray(value) ? value : value.split(",")).map((item) => String(item).trim()).filter((item) => item !== "");
    const used = words ? items.filter((item) => words.includes(item.toLowerCase())) : items;
    if (used.length < items.length) this.#note(name, `holds what is none of ${words?.join(", ")}: it is left out`);
    // A list that is there and empty holds nothing.
    return filled && items.length === 0 && !Array.isArray(value) ? otherwise : used;
  }

  /**
   * @param {string} name
   * @param {string} what
   */
  #note(name, what) {
    this.notes.push(`${this.path}${name} ${what}`);
  }
}

/**
 * The rights that the plugin lacks, each as a line that says how to grant it.
 *
 * @param {import("./api.js").PluginApi} api
 * @returns {string[]} empty also when the gateway does not show its configuration
 */
export function missingAccess({ config, id }) {
  if (config === undefined) return [];
  const entry = `plugins.entries.${id}.hooks`;
  const hooks = record(record(record(record(record(config).plugins).entries)[id]).hooks);
  const missing = [];
  if (hooks.allowConversationAccess !== true) {
    missing.push(`never asked for a hint: the gateway hides conversations from this plugin until ${entry}.allowConversationAccess is true`);
  }
  if (hooks.allowPromptInjection === false) missing.push(`never asked for a hint: ${entry}.allowPromptInjection is false`);
  return missing;
}
