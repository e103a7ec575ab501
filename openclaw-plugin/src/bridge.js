// The one way from this process to NATS: decisions are requests, events are published.

import { Asker, NO_ANSWER } from "./ask.js";
import { asWritten } from "./blocks.js";
import { Link } from "./connect.js";
import { Spool } from "./outbox.js";
import { ALWAYS_ON, Permits, isGroup, placeOf } from "./permits.js";
import { Recent, Warnings } from "./recent.js";
import { Skills } from "./skills.js";
import { Teller } from "./tell.js";
import { Gate, UserNames, isCommand } from "./triage.js";
import { record, text } from "./values.js";

/**
 * @typedef {import("./config.js").Options} Options
 * @typedef {import("./api.js").Logger} Logger
 */

/** How long a command waits for its events before it closes its connection. */
const COMMAND_FLUSH_MS = 2000;

/**
 * After a reload, handlers of an older version of the plugin call a bridge of the newer one: ask,
 * request, tell, open, flush, release and close keep their signatures.
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
  /** @type {Asker} */
  #asker;
  /** @type {Teller} */
  #teller;
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
      onUp: () => this.#teller.outbox.kick(),
      onDown: () => this.#teller.outbox.keep(),
      onIdle: () => void this.close(this.#teller.outbox.size > 0 ? COMMAND_FLUSH_MS : 0),
    }));
    this.#teller = new Teller({ options, permits: this.#permits, link, counters, warnings });
    this.#asker = new Asker({
      options,
      link,
      counters,
      warnings,
      onUnanswered: (request) => this.#teller.unanswered(request),
    });
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
    return this.#asker.lastHints;
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
    this.#asker.configure(options);
    this.#teller.configure(options);
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
    await this.#teller.outbox.restore(new Spool(file, this.#warnings));
  }

  /**
   * Requests the decision of a hook; see {@link Asker.ask}. Nothing is asked about chats that a
   * person has switched off, nor about those that the rules exclude, except for hooks that the operator
   * has put into hooks.decide.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   * @param {number} budgetMs
   * @returns {Promise<import("./ask.js").Decision>}
   */
  async ask(hook, event, ctx, budgetMs) {
    if (hook === "before_prompt_build") return this.#askTurn(event, ctx, budgetMs);
    if (hook === "before_dispatch") return this.#askGate(event, ctx, budgetMs);
    if (this.isOff(placeOf(event, ctx).key)) return NO_ANSWER;
    return this.#link.during(() => this.#asker.ask(hook, event, ctx, budgetMs));
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
    const decision = await this.#link.during(() => this.#asker.ask("before_dispatch", event, ctx, budgetMs));
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
    for (const held of permit.held) this.#teller.release(held);
    if (!permit.ask) {
      this.#asker.skipped(ctx, permit.skip, permit.person);
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
        this.#asker.ask("before_prompt_build", told, given, until - performance.now(), { tell: permit.tell, history }),
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
   * @returns {Promise<import("./ask.js").Decision>}
   */
  async recall(event, ctx, budgetMs) {
    const { toolAuthority, ...rest } = record(ctx);
    const run = text(ctx, "runId");
    if (run === undefined || !this.#recalls.take(run)) return NO_ANSWER;
    if (toolAuthority && !(/** @type {import("./api.js").ToolAuthority} */ (toolAuthority).allows("kb_search"))) return NO_ANSWER;
    const prompt = { ...record(event), messages: [] };
    return this.#link.during(() => this.#asker.ask("knowhub_recall", prompt, rest, budgetMs));
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
   * Sends a request as it is; see {@link Asker.request}.
   *
   * @param {string} hook
   * @param {string | undefined} agent
   * @param {string} body
   * @param {number} deadline by performance.now()
   */
  request(hook, agent, body, deadline) {
    return this.#link.during(() => this.#asker.request(hook, agent, body, deadline));
  }

  /**
   * Calls a service endpoint; see {@link Asker.call}.
   *
   * @param {string} subject
   * @param {object} body
   * @param {number} budgetMs
   * @param {AbortSignal} [signal]
   */
  call(subject, body, budgetMs, signal) {
    return this.#link.during(() => this.#asker.call(subject, body, budgetMs, signal));
  }

  /**
   * Tells of an event; see {@link Teller.tell}.
   *
   * @param {string} hook
   * @param {unknown} event
   * @param {unknown} ctx
   */
  tell(hook, event, ctx) {
    this.#teller.tell(hook, event, ctx);
  }

  /**
   * Tells what a person said of a decision (contract §11).
   *
   * @param {object} event of feedback
   * @param {{agentId?: string | undefined, sessionKey?: string | undefined, sessionId?: string | undefined}} ctx where it was said
   */
  feedback(event, ctx) {
    this.#teller.release({ hook: "feedback", event, ctx, ts: Date.now() });
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
    return this.#teller.flush(ms);
  }

  /**
   * Flushes and closes the connection; events that are left wait for the next one.
   *
   * @param {number} ms limit for the flush
   */
  async release(ms) {
    await this.flush(ms);
    await this.#link.close();
    this.#teller.outbox.keep();
  }

  /**
   * Flushes and closes the connection. Events that are left stay in the file, or are dropped without
   * one. Later requests and events connect again.
   *
   * @param {number} ms limit for the flush
   */
  async close(ms) {
    await this.release(ms);
    await this.#teller.end();
    this.#restored = false;
  }

  status() {
    const { size, kept, stored, dropped, refused } = this.#teller.outbox;
    return {
      state: this.#link.state,
      server: this.#link.nc?.getServer() ?? "",
      reason: this.#link.reason,
      ...this.#asker.status(),
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
    return this.#asker.breaker(hook);
  }

  /** @param {string} warning */
  warnOnce(warning) {
    this.#warnings.once(warning);
  }
}

/** What /hint counts. */
export function newCounters() {
  return {
    /** Requests that were sent. */
    asked: 0,
    /** Requests that got a reply, of whatever kind. */
    answered: 0,
    /** Replies without a decision. */
    noDecision: 0,
    /** Replies that could not be used. */
    garbage: 0,
    /** Requests without a reply in time. */
    late: 0,
    /** Requests without a responder. */
    nobody: 0,
    /** Requests that were not sent: no connection, or a pause after late answers. */
    skipped: 0,
    /** Requests and events that failed otherwise. */
    failed: 0,
    /** Events that were queued for the stream. */
    told: 0,
  };
}

/** @typedef {ReturnType<typeof newCounters>} Counters */
