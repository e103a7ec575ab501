// What is told: events of hooks as far as they may leave the gateway, published to the stream through
// the outbox.

import { randomUUID } from "node:crypto";

import { JetStreamApiError, jetstream } from "@nats-io/jetstream";
import { PermissionViolationError, RequestError, headers } from "@nats-io/transport-node";

import { cut } from "./encode.js";
import { isListed } from "./hooks.js";
import { Outbox } from "./outbox.js";
import { globOf } from "./permits.js";
import { attempt, field, message, record, text } from "./values.js";
import { addressOf, encodeBody, eventSubject, traceparentOf } from "./wire.js";

/** How long to wait for the acknowledgement of an event. */
const STORE_MS = 5000;

export class Teller {
  /** Dropped events that were logged. */
  #reported = 0;

  /**
   * @param {object} given
   * @param {import("./config.js").Options} given.options
   * @param {import("./permits.js").Permits} given.permits
   * @param {import("./connect.js").Link} given.link
   * @param {import("./bridge.js").Counters} given.counters
   * @param {import("./recent.js").Warnings} given.warnings
   */
  constructor({ options, permits, link, counters, warnings }) {
    this.options = options;
    this.permits = permits;
    this.link = link;
    this.counters = counters;
    this.warnings = warnings;
    this.outbox = new Outbox({
      limits: options.buffer,
      ready: () => this.link.up,
      away: () => this.link.state === "down" || this.link.state === "closed",
      publish: (item) => this.#publish(item),
      onDrop: () => this.warnings.once("the event buffer is full: dropping the oldest"),
      onEmpty: () => this.#reportDrops(),
    });
  }

  /** Logs how many events were dropped since the last time. */
  #reportDrops() {
    const dropped = this.outbox.dropped - this.#reported;
    if (dropped === 0) return;
    this.#reported = this.outbox.dropped;
    this.warnings.log.warn(`${dropped} events were dropped: more had to wait than the buffer holds`);
  }

  /** @param {import("./config.js").Options} options */
  configure(options) {
    this.options = options;
    this.outbox.limits = options.buffer;
  }

  /**
   * Tells of an event, unless the rules exclude its chat. What is known of that at the chat's next turn
   * only is held until then. It returns at once and never throws.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   */
  tell(hook, event, ctx) {
    const held = { hook, event: this.#part(hook, event), ctx, ts: Date.now() };
    const permit = this.permits.event(hook, held.event, ctx);
    if (permit) this.release(held);
    else if (permit === undefined) this.permits.hold(held);
  }

  /**
   * Tells of an event that may be told.
   *
   * @param {import("./permits.js").Held} held
   */
  release({ hook, event, ctx, ts }) {
    const leaveOut = this.permits.leaveOut(hook, event, ctx);
    this.#queue({ hook, event, ctx, ts, id: randomUUID() }, { ...this.#historyOf(hook), ...(leaveOut && { leaveOut }) });
  }

  /**
   * The part of an event that is told. Usage is told whole if the operator lists its hook.
   *
   * @param {string} hook
   * @param {unknown} event
   */
  #part(hook, event) {
    if (hook === "after_tool_call") return toldCall(event, this.options.hooks.results);
    return isListed(this.options, hook) ? event : counted(hook, event);
  }

  /**
   * Queues a request that got no answer: the turn began all the same (contract §8).
   *
   * @param {import("./wire.js").Body} request
   */
  unanswered(request) {
    this.#queue(request, request.history ?? this.options.history);
  }

  /**
   * @param {import("./wire.js").Body} envelope
   * @param {import("./wire.js").History} history
   */
  #queue(envelope, history) {
    const { hook, event, ctx, id } = envelope;
    try {
      const limit = Math.min(this.options.buffer.eventBytes, this.link.maxBody);
      const body = encodeBody(envelope, limit, history);
      if (body === undefined) {
        this.counters.failed++;
        this.warnings.once(`${hook}: the event is too large`);
        return;
      }
      const { agent, session } = addressOf(event, ctx);
      this.counters.told++;
      const trace = traceparentOf(ctx);
      this.outbox.push({ subject: eventSubject(this.options.subjectPrefix, hook, agent, session), id, body, ...(trace && { trace }) });
      this.link.open();
      this.link.rest();
    } catch (error) {
      this.counters.failed++;
      this.warnings.once(`${hook}: publishing failed: ${message(error)}`);
    }
  }

  /**
   * What an event holds of its messages: all that fits, but only text for extraction.
   *
   * @param {string} hook
   * @returns {import("./wire.js").History}
   */
  #historyOf(hook) {
    const extracted = hook === this.options.knowhub.extraction;
    return { turns: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, textOnly: extracted, runs: extracted };
  }

  /**
   * Waits until all events are stored.
   *
   * @param {number} ms at most
   * @returns {Promise<boolean>} whether they are
   */
  async flush(ms) {
    if (this.outbox.size === 0) return true;
    const until = performance.now() + ms;
    return this.link.during(async () => {
      if (!(await this.link.connected(ms))) return false;
      return this.outbox.drained(Math.max(1, until - performance.now()));
    });
  }

  /**
   * Ends the queue: events that are left stay in the file, or are dropped without one.
   */
  async end() {
    const { kept, lost } = await this.outbox.abandon();
    if (kept > 0) this.warnings.log.info(`${kept} events wait on disk for the next start`);
    if (lost > 0) this.warnings.log.warn(`${lost} events were not delivered before shutdown`);
    this.#reported += lost;
    this.#reportDrops();
  }

  /**
   * @param {import("./outbox.js").Item} item
   * @returns {Promise<import("./outbox.js").Outcome>}
   */
  async #publish({ subject, id, body, trace, bytes = 0 }) {
    const { nc } = this.link;
    if (!nc) return "again";
    if (bytes > this.link.maxBody) {
      this.warnings.once("an event is larger than the server's max_payload");
      return "refused";
    }
    try {
      const expect = this.options.stream === "" ? {} : { expect: { streamName: this.options.stream } };
      /** @type {Partial<import("@nats-io/jetstream").JetStreamPublishOptions>} */
      const options = { msgID: id, timeout: STORE_MS, ...expect };
      if (trace) {
        options.headers = headers();
        options.headers.set("traceparent", trace);
      }
      await jetstream(nc).publish(subject, body, options);
      return "stored";
    } catch (error) {
      if (nc.isClosed()) return "again";
      this.warnings.once(`events are not stored: ${message(error)}`);
      const denied = error instanceof RequestError && error.cause instanceof PermissionViolationError;
      // Errors from 500 on are the server's own and may pass.
      const invalid = error instanceof JetStreamApiError && error.status < 500;
      return denied || invalid ? "refused" : "again";
    }
  }
}

/** Characters of a result's text. A session shows 200; redaction needs what stands around them. */
const RESULT_CHARS = 1000;

/** Characters of a SKILL.md that are searched for the end of its front matter, whose name a session keeps. */
const MATTER_CHARS = 16_384;

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

/** The hooks, and the fields of their events that are told. */
const TOLD = new Map([
  ["llm_output", ["runId", "sessionId", "provider", "model", "resolvedRef", "reasoningEffort"]],
  ["model_call_ended", ["runId", "sessionId", "callId", "provider", "model", "outcome", "durationMs"]],
]);

const TOKENS = ["input", "output", "cacheRead", "cacheWrite"];

/**
 * The part of an event that is told: no text of people or models.
 *
 * @param {string} hook
 * @param {unknown} event
 * @returns {unknown} the event itself for another hook
 */
export function counted(hook, event) {
  const fields = TOLD.get(hook);
  if (!fields) return event;
  const all = record(event);
  const out = picked(all, fields);
  if (hook === "llm_output" && all.usage !== undefined) out.usage = picked(record(all.usage), TOKENS);
  return out;
}

/**
 * @param {Record<string, unknown>} from
 * @param {string[]} names
 */
function picked(from, names) {
  return Object.fromEntries(names.filter((name) => ["string", "number"].includes(typeof from[name])).map((name) => [name, from[name]]));
}
