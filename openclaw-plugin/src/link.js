// This process's connection to NATS: opened when it is needed, replaced when its options change, and
// closed again in a process that is not a gateway.

import { Connection, connectionOptions } from "./connection.js";

/**
 * @typedef {import("./config.js").Options} Options
 * @typedef {import("./api.js").Logger} Logger
 */

/** Bytes of max_payload that are left for the headers. */
const HEADER_ROOM = 1024;

/** The max_payload of a server that has not told its own: NATS's default. */
const MAX_PAYLOAD = 1_048_576;

/** How long a process that is not a gateway keeps an idle connection. */
const IDLE_MS = 500;

export class Link {
  /** Whether this process is a gateway, which keeps its connection; a command closes it when idle. */
  gateway = false;

  /** @type {Connection} */
  #connection;
  /** @type {NodeJS.Timeout | undefined} */
  #idle;
  #busy = 0;
  #wasUp = false;

  /**
   * @param {object} given
   * @param {Options} given.options
   * @param {Logger} given.log
   * @param {import("./warnings.js").Warnings} given.warnings
   * @param {() => void} given.onUp
   * @param {() => void} given.onDown
   * @param {() => void} given.onIdle called in a process that is not a gateway
   */
  constructor({ options, log, warnings, onUp, onDown, onIdle }) {
    this.options = options;
    this.log = log;
    this.warnings = warnings;
    this.onUp = onUp;
    this.onDown = onDown;
    this.onIdle = onIdle;
    this.#connection = this.#newConnection();
  }

  get state() {
    return this.#connection.state;
  }

  get up() {
    return this.#connection.state === "up";
  }

  /** The client's connection, up or not. */
  get nc() {
    return this.#connection.nc;
  }

  /** Why there is no connection. */
  get reason() {
    return this.#connection.lastError;
  }

  /** The largest body that the server takes, in bytes. */
  get maxBody() {
    return (this.#connection.nc?.info?.max_payload ?? MAX_PAYLOAD) - HEADER_ROOM;
  }

  /**
   * Applies new options; reconnects only when the connection's own options have changed.
   *
   * @param {Options} options
   * @param {Logger} log
   */
  configure(options, log) {
    const before = this.options;
    this.options = options;
    this.log = log;
    if (keyOf(before) === keyOf(options)) return;
    const old = this.#connection;
    this.#connection = this.#newConnection();
    void old.close();
    if (old.state !== "idle" && this.gateway) this.#connection.open();
  }

  /** Starts to connect, so that later requests and events find a connection. */
  open() {
    clearTimeout(this.#idle);
    if (this.#connection.state === "closed") this.#connection = this.#newConnection();
    this.#connection.open();
  }

  /**
   * Opens the connection and waits for the first attempt to connect.
   *
   * @param {number} ms at most
   * @returns {Promise<import("@nats-io/transport-node").NatsConnection | undefined>} undefined while it is not up
   */
  async connected(ms) {
    this.open();
    const connection = this.#connection;
    return (await connection.ready(ms)) ? connection.nc : undefined;
  }

  /**
   * Keeps the connection open while something is under way.
   *
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async during(work) {
    this.#busy++;
    clearTimeout(this.#idle);
    try {
      return await work();
    } finally {
      this.#busy--;
      this.rest();
    }
  }

  /**
   * Reports an idle connection soon, unless something is under way or this process is a gateway:
   * `openclaw agent --local` exits only when nothing keeps it alive.
   */
  rest() {
    clearTimeout(this.#idle);
    if (this.gateway || this.#busy > 0) return;
    this.#idle = setTimeout(() => {
      if (this.#busy === 0 && !this.gateway) this.onIdle();
    }, IDLE_MS).unref();
  }

  async close() {
    clearTimeout(this.#idle);
    this.#wasUp = false;
    await this.#connection.close();
  }

  #newConnection() {
    const connection = new Connection(
      () => connectionOptions(this.options),
      (state, reason) => {
        if (connection !== this.#connection) return;
        if (state === "up") {
          const text = `connected to NATS at ${connection.nc?.getServer()}`;
          if (this.gateway) this.log.info(text);
          else this.log.debug?.(text);
          this.#wasUp = true;
          this.onUp();
        } else if (state === "down") {
          const text = `no connection to NATS (${reason}); turns continue without hints, events wait`;
          if (this.#wasUp) this.log.warn(text);
          else this.warnings.once(text);
          this.#wasUp = false;
          this.onDown();
        }
      },
    );
    return connection;
  }
}

/**
 * The options of the connection, as a key: another key needs another connection.
 *
 * @param {Options} o
 */
function keyOf(o) {
  return JSON.stringify([o.natsUrl, o.natsPort, o.natsContext, o.natsCreds, o.natsNkey, o.natsCa, o.natsCert, o.natsKey, o.natsInboxPrefix]);
}
