// The blocks that this system puts into prompts, and what passes for one.
//
// A hint is text in front of a person's message, and the person may write the same tags. No hook can
// change a person's text without changing what is stored and shown, but the gateway takes rewrites of
// what is sent to a model (registerTextTransforms). Our own tags carry a mark that nobody outside this
// process knows until there; tags without it lose their "<", and the mark is taken off.
//
// There too, what was put in front of a message is put in front of it again in later requests: the
// gateway keeps the message without it, and history that changes costs the provider's prompt cache.

import { createHash, randomBytes } from "node:crypto";

import { Recent } from "./recent.js";
import { field, record, text } from "./values.js";

/** Tags of contract §5 and §6. */
const TAGS = ["intention_hint_plugin", "relevant-experiences", "skipped-messages", "knowhub-reminder"];
const NAMES = `(?:${TAGS.join("|")})`;

/** What passes for the beginning of a tag: also with invisible characters, and in the full-width form of "<". */
const BEGINNING = `[<\uff1c\ufe64](?=[\\s\\p{Cf}/]*(?:${TAGS.map((tag) => [...tag].join("\\p{Cf}*")).join("|")})(?![\\w-])`;
const WRITTEN = new RegExp(`${BEGINNING})`, "giu");

/** Fields of a result that are text for a model. */
const FIELDS = ["prependContext", "appendContext", "prependSystemContext", "appendSystemContext", "systemPrompt"];

/** How many contexts in front of messages are remembered, at some 2 kB each. */
const REMEMBERED = 2000;

/**
 * The event with tags that the person wrote escaped: the consumer takes out the blocks of this system
 * with all that they hold (contract §5), and would not see what the person wants. The last of the
 * messages may be the same text.
 *
 * @param {unknown} event of before_prompt_build
 * @returns {unknown}
 */
export function asWritten(event) {
  const { prompt, currentUserMessage, messages } = record(event);
  if (![prompt, currentUserMessage].some((text) => typeof text === "string" && text.search(WRITTEN) >= 0)) return event;
  const escaped = { ...record(event), prompt: escape(prompt), currentUserMessage: escape(currentUserMessage) };
  if (!Array.isArray(messages) || text(messages.at(-1), "role") !== "user") return escaped;
  const last = record(messages.at(-1));
  const content = Array.isArray(last.content)
    ? last.content.map((part) => (text(part, "text") === undefined ? part : { ...record(part), text: escape(field(part, "text")) }))
    : escape(last.content);
  return { ...escaped, messages: [...messages.slice(0, -1), { ...last, content }] };
}

/**
 * @template T
 * @param {T} value
 * @returns {T | string}
 */
function escape(value) {
  return typeof value === "string" ? value.replace(WRITTEN, "&lt;") : value;
}

export class Blocks {
  #secret = randomBytes(12).toString("hex");
  /** The same for every request that a model sees: it never gets there. */
  #mark = ` id="${this.#secret}"`;
  /** Around the whole context in front of a message. */
  #begin = `<${this.#secret}:`;
  #end = `:${this.#secret}>`;
  #history = new History(this.#begin, this.#end);

  /**
   * Marks the tags in a result.
   *
   * @param {object} result of before_prompt_build
   * @returns {object}
   */
  mark(result) {
    /** @type {Record<string, unknown>} */
    const out = { ...result };
    for (const field of FIELDS) {
      const value = out[field];
      if (typeof value === "string") out[field] = value.replace(new RegExp(`(</?${NAMES})>`, "g"), `$1${this.#mark}>`);
    }
    if (typeof out.prependContext === "string") out.prependContext = `${this.#begin}${out.prependContext}${this.#end}`;
    return out;
  }

  /** Rewrites of all text that is sent to a model, in this order. */
  get transforms() {
    return {
      input: [
        { from: new RegExp(`${BEGINNING}(?!${this.#mark}>))`, "giu"), to: "&lt;" },
        { from: new RegExp(`(</?${NAMES})${this.#mark}(?=>)`, "g"), to: "$1" },
        { from: this.#history, to: "$1$2" },
      ],
    };
  }
}

/**
 * Puts what was in front of a message there again when the message is history. It is a pattern of the
 * marks around such a context, since a rewrite of the gateway is a pattern and a replacement: where a
 * gateway copies the pattern, the marks are taken off and nothing else happens.
 *
 * The gateway rewrites the texts of a request one after the other, without a pause, and says neither
 * which request it is nor whose. So a message is known by all texts before it and its own: a request
 * with the same ones has the same conversation, and gets nothing of another's.
 */
class History extends RegExp {
  /**
   * By the conversation up to a message: the contexts in front of it, each with its place in the message
   * without any. There are two where experiences were put there apart from the hint.
   *
   * @type {Recent<{at: number, context: string}[]>}
   */
  #contexts = new Recent(REMEMBERED);
  /** The lengths of the messages that have any. @type {Recent<boolean>} */
  #lengths = new Recent(REMEMBERED);
  /** The texts of this request so far, as the gateway keeps them; undefined between requests. */
  #texts = /** @type {import("node:crypto").Hash | undefined} */ (undefined);

  /**
   * @param {string} begin
   * @param {string} end
   */
  constructor(begin, end) {
    super(`${begin}([^]*?)${end}(\\n\\n)?`, "g");
  }

  /**
   * @param {string} text
   * @returns {string}
   */
  [Symbol.replace](text) {
    const { bare, given } = this.#apart(text);
    this.#read(bare);
    const length = String(bare.length);
    if (given.length === 0 && !this.#lengths.get(length)) return text; // most texts: what follows takes longer than reading them
    const key = this.#key();
    const known = given.length > 0 ? given : this.#contexts.get(key);
    if (!known) return text;
    this.#contexts.set(key, known); // the latest that were used stay
    this.#lengths.set(length, true);
    let out = "";
    let end = 0;
    for (const { at, context } of known) {
      out += bare.slice(end, at) + context;
      end = at;
    }
    return out + bare.slice(end);
  }

  /**
   * Takes the contexts out of a text.
   *
   * @param {string} text
   */
  #apart(text) {
    const given = [];
    let bare = "";
    let end = 0;
    this.lastIndex = 0;
    for (let found = this.exec(text); found; found = this.exec(text)) {
      bare += text.slice(end, found.index);
      end = this.lastIndex;
      // A copy: a part of a text would keep the whole text in memory.
      given.push({ at: bare.length, context: Buffer.from(found[1] + (found[2] ?? "")).toString() });
    }
    return { bare: bare + text.slice(end), given };
  }

  /**
   * Adds a text to the request's.
   *
   * @param {string} bare
   */
  #read(bare) {
    if (!this.#texts) {
      this.#texts = createHash("sha256");
      queueMicrotask(() => (this.#texts = undefined));
    }
    this.#texts.update(`${bare.length}:`).update(bare);
  }

  /** The conversation up to the last text that was read. */
  #key() {
    return /** @type {import("node:crypto").Hash} */ (this.#texts).copy().digest("base64");
  }
}
