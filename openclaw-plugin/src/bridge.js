// The one way from this process to NATS: decisions are requests, events are published.

import { asWritten } from "./blocks.js";
import { Calls } from "./calls.js";
import { newCounters } from "./counters.js";
import { Decisions } from "./decisions.js";
import { isGroup, placeOf } from "./eligibility.js";
import { Events } from "./events.js";
import { UserNames } from "./agents.js";
import { Gate, isCommand } from "./gate.js";
import { isListed } from "./hooks.js";
import { Link } from "./link.js";
import { ALWAYS_ON, Permits } from "./permits.js";
import { NO_ANSWER } from "./replies.js";
import { Recent } from "./recent.js";
import { Requests } from "./requests.js";
import { Skills } from "./skills.js";
import { Spool } from "./spool.js";
import { toldCall } from "./told.js";
import { counted } from "./usage.js";
import { record, text } from "./values.js";
import { Warnings } from "./warnings.js";

/**
 * @typedef {import("./config.js").Options} Options
 * @typedef {import("./api.js").Logger} Logger
 */

/** How long a command waits for its events before it closes its connection. */
const COMMAND_FLUSH_MS = 2000;

/**
 * After a reload, handlers of an older version of the plugin call a bridge of the newer one: ask,
 * tell, open, flush, release and close keep their signatures.
 */
export class Bridge {
  /** What the triage gate decided, and what it need not tell. */
  gate = new Gate();

  /** What bots are called on their channels. */
  userNames = new UserNames();

  /** The skills of the agent of a turn. @type {(ctx: unknown) => import("./skills.js").Skill[]} */
  skillsOf = () => [];

  /** Whether the gateway may hide tools from the model behind a search. @type {() => boolean} */
  searchesTools = () => false;

  /** Whether hints stay in the history that models are sent (blocks.js). */
  keepsHints = false;

  /** Since when: what an earlier process of the gateway has put into the history is gone. */
  #keptSince = Date.now();

  #skills = new Skills((ctx) => this.skillsOf(ctx));
  #counters = newCounters();
  #restored = false;
  /** Runs that experiences may be asked for. @type {Recent<boolean>} */
  #recalls = new Recent();
  /** @type {Warnings} */
  #warnings;
  /** @type {Link} */
  #link;
  /** @type {Decisions} */
  #decisions;
  /** @type {Events} */
  #events;
  /** @type {Calls} */
  #calls;
  /** @type {Permits} */
  #permits;

  /**
   * @param {Options} options
   * @param {Logger} log
   * @param {import("./permits.js").Switched} [hints] chats in which hints are off
   * @param {import("./permits.js").Switched} [gate] chats in which the triage gate is off
   */
  constructor(options, log, hints = ALWAYS_ON, gate = ALWAYS_ON) {
    this.options = options;
    this.#permits = new Permits(options, hints, gate);
    const counters = this.#counters;
    const warnings = (this.#warnings = new Warnings(log));
    const link = (this.#link = new Link({
      options,
      log,
      warnings,
      onUp: () => this.#events.outbox.kick(),
      onDown: () => this.#events.outbox.keep(),
      onIdle: () => void this.close(this.#events.outbox.size > 0 ? COMMAND_FLUSH_MS : 0),
    }));
    const requests = new Requests({ link, counters, warnings });
    this.#events = new Events({ options, link, counters, warnings });
    this.#decisions = new Decisions({
      options,
      requests,
      counters,
      warnings,
      onUnanswered: (request) => this.#events.unanswered(request),
    });
    this.#calls = new Calls({ link, requests, warnings });
  }

  /** Whether this process is a gateway, which keeps its connection. */
  get gateway() {
    return this.#link.gateway;
  }

  set gateway(is) {
    this.#link.gateway = is;
  }

  /** The last hint of each chat, by session key. */
  get lastHints() {
    return this.#decisions.lastHints;
  }

  /**
   * Applies new options; reconnects only when the connection's own options have changed.
   *
   * @param {Options} options
   * @param {Logger} log
   */
  configure(options, log) {
    this.options = options;
    this.#permits.configure(options);
    this.#warnings.log = log;
    this.#decisions.configure(options);
    this.#events.configure(options);
    this.#link.configure(options, log);
  }

  /** Starts to connect, so that later requests and events find a connection. */
  open() {
    this.#link.open();
  }

  /**
   * Keeps events that have to wait in a file from now on, and publishes those that it holds.
   *
   * @param {string} file
   */
  async restore(file) {
    if (this.#restored) return;
    this.#restored = true;
    await this.#events.outbox.restore(new Spool(file, this.#warnings));
  }

  /**
   * Requests the decision of a hook; see {@link Decisions.ask}. Nothing is asked about chats that a
   * person has switched off, nor about those that the rules exclude, except for hooks that the operator
   * has put into hooks.decide.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @param {number} budgetMs
   * @returns {Promise<import("./replies.js").Decision>}
   */
  async ask(hook, event, ctx, budgetMs) {
    if (hook === "before_prompt_build") return this.#askTurn(event, ctx, budgetMs);
    if (hook === "before_dispatch") return this.#askGate(event, ctx, budgetMs);
    if (this.isOff(placeOf(event, ctx).key)) return NO_ANSWER;
    return this.#link.during(() => this.#decisions.ask(hook, event, ctx, budgetMs));
  }

  /**
   * @param {unknown} event of before_dispatch
   * @param {unknown} ctx
   * @param {number} budgetMs
   */
  async #askGate(event, ctx, budgetMs) {
    const command = isCommand(event);
    if (command) this.gate.commanded(event, ctx);
    const own = this.options.hooks.decide.includes("before_dispatch") && !this.isOff(placeOf(event, ctx).key);
    if (!own && (command || !this.#permits.dispatch(event, ctx))) return NO_ANSWER;
    const began = performance.now();
    const decision = await this.#link.during(() => this.#decisions.ask("before_dispatch", event, ctx, budgetMs));
    this.gate.decided(event, ctx, decision, performance.now() - began);
    return decision;
  }

  /**
   * @param {unknown} event
   * @param {unknown} ctx
   * @param {number} budgetMs
   */
  async #askTurn(event, ctx, budgetMs) {
    const permit = this.#permits.turn(ctx);
    for (const held of permit.held) this.#tell(held);
    if (!permit.ask) {
      this.#decisions.skipped(ctx, permit.skip, permit.person);
      return NO_ANSWER;
    }
    const run = this.options.knowhub.recall ? text(ctx, "runId") : undefined;
    const more = {
      ...record(this.#withHistory(ctx)),
      ...(this.keepsHints && { keepsHints: true, keptSince: this.#keptSince }),
      ...(run !== undefined && { recallLater: true }),
      ...(this.options.knowhub.enabled && this.searchesTools() && { toolSearch: true }),
    };
    const told = asWritten(event);
    const { groupTurns, ...read } = this.options.history;
    const history = { ...read, leaveOut: this.#permits.leaveOut("before_prompt_build", event, ctx) };
    if (permit.gated) history.turns = groupTurns;
    const until = performance.now() + budgetMs;
    const decision = await this.#link.during(() =>
      this.#skills.ask(more, (given) =>
        this.#decisions.ask("before_prompt_build", told, given, until - performance.now(), { tell: permit.tell, history }),
      ),
    );
    // Who did not answer this is not asked again in the same turn.
    if (run !== undefined && decision.decided) this.#recalls.set(run, true);
    return decision;
  }

  /**
   * Requests the experiences for the prompt of a turn that {@link ask} has asked about. Where the
   * gateway tells which tools the turn has, kb_search must be among them.
   *
   * @param {unknown} event of before_prompt_build
   * @param {unknown} ctx
   * @param {number} budgetMs
   * @returns {Promise<import("./replies.js").Decision>}
   */
  async recall(event, ctx, budgetMs) {
    const { toolAuthority, ...rest } = record(ctx);
    const run = text(ctx, "runId");
    if (run === undefined || !this.#recalls.take(run)) return NO_ANSWER;
    if (toolAuthority && !(/** @type {import("./api.js").ToolAuthority} */ (toolAuthority).allows("kb_search"))) return NO_ANSWER;
    const prompt = { ...record(event), messages: [] };
    return this.#link.during(() => this.#decisions.ask("knowhub_recall", prompt, rest, budgetMs));
  }

  /**
   * Adds what the gateway itself tells the model of a group: skipped messages are told once.
   *
   * @param {unknown} ctx of before_prompt_build
   */
  #withHistory(ctx) {
    const { key } = placeOf(undefined, ctx);
    const heldMessageIds = this.options.triage.enabled && isGroup(key) ? this.gate.history(key, text(ctx, "runId")) : [];
    return heldMessageIds.length === 0 ? ctx : { ...record(ctx), heldMessageIds };
  }

  /**
   * Calls a service endpoint; see {@link Calls.call}.
   *
   * @param {string} subject
   * @param {object} body
   * @param {number} budgetMs
   * @param {AbortSignal} [signal]
   */
  call(subject, body, budgetMs, signal) {
    return this.#link.during(() => this.#calls.call(subject, body, budgetMs, signal));
  }

  /**
   * Queues an event for the stream; see {@link Events.tell}. Nothing is told of chats that the rules
   * exclude. It never throws.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   */
  tell(hook, event, ctx) {
    const told = this.#part(hook, event);
    const permit = this.#permits.event(hook, told, ctx);
    const held = { hook, event: told, ctx, ts: Date.now() };
    if (permit) this.#tell(held);
    else if (permit === undefined) this.#permits.hold(held);
  }

  /** @param {import("./permits.js").Held} held */
  #tell({ hook, event, ctx, ts }) {
    this.#events.tell(hook, event, ctx, { ts, leaveOut: this.#permits.leaveOut(hook, event, ctx) });
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
   * Queues what a person said of a decision (contract §11).
   *
   * @param {object} event of feedback
   * @param {{agentId?: string | undefined, sessionKey?: string | undefined, sessionId?: string | undefined}} ctx where it was said
   */
  feedback(event, ctx) {
    this.#events.tell("feedback", event, ctx);
  }

  /**
   * Reports whether hints were switched off for a chat.
   *
   * @param {string | undefined} chat a session key
   */
  isOff(chat) {
    return chat !== undefined && this.#permits.hints.isOff(chat);
  }

  /**
   * Reports whether the triage gate is asked about a chat.
   *
   * @param {string} chat a session key
   */
  gates(chat) {
    return this.#permits.dispatch({}, { sessionKey: chat });
  }

  /**
   * Waits until all events are stored.
   *
   * @param {number} ms at most
   * @returns {Promise<boolean>} whether they are
   */
  flush(ms) {
    return this.#events.flush(ms);
  }

  /**
   * Flushes and closes the connection; events that are left wait for the next one.
   *
   * @param {number} ms limit for the flush
   */
  async release(ms) {
    await this.flush(ms);
    await this.#link.close();
    this.#events.outbox.keep();
  }

  /**
   * Flushes and closes the connection. Events that are left stay in the file, or are dropped without
   * one. Later requests and events connect again.
   *
   * @param {number} ms limit for the flush
   */
  async close(ms) {
    await this.release(ms);
    await this.#events.end();
    this.#restored = false;
  }

  status() {
    const { size, kept, stored, dropped, refused } = this.#events.outbox;
    return {
      state: this.#link.state,
      server: this.#link.nc?.getServer() ?? "",
      reason: this.#link.reason,
      ...this.#decisions.status(),
      buffered: size,
      kept,
      stored,
      dropped,
      refused,
      ...this.#counters,
    };
  }

  /** @param {string} hook */
  breaker(hook) {
    return this.#decisions.breaker(hook);
  }

  /** @param {string} warning */
  warnOnce(warning) {
    this.#warnings.once(warning);
  }
}
