// The connection to NATS: opened when it is needed, dialled until it is up and again when it is lost,
// replaced when its options change, and closed again in a process that is not a gateway.

import { connect as dial, isIP } from "node:net";
import { connect as secure } from "node:tls";

import { AuthorizationError, connect } from "@nats-io/transport-node";

import { DIAL_MS, connectionOptions } from "./server.js";
import { message } from "./values.js";

/**
 * @typedef {import("./config.js").Options} Options
 * @typedef {import("./api.js").Logger} Logger
 * @typedef {import("@nats-io/transport-node").NatsConnection} NatsConnection
 * @typedef {import("@nats-io/transport-node").ConnectionOptions} ConnectionOptions
 * @typedef {"idle" | "connecting" | "up" | "down" | "closed"} State
 * @typedef {import("./server.js").Dial} Dial
 */

/** Limit for closing; a server that no longer reads could block it. */
const CLOSE_MS = 500;

/** The longest pause between attempts. */
const MAX_PAUSE_MS = 5000;

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
   * @param {import("./recent.js").Warnings} given.warnings
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
  return JSON.stringify([o.natsUrl, o.natsPort, o.natsContext, o.natsCreds, o.natsNkey, o.natsCa, o.natsCert, o.natsKey, o.natsTlsFirst, o.natsInboxPrefix]);
}

export class Connection {
  /** @type {State} */
  state = "idle";
  /** @type {NatsConnection | undefined} */
  nc;
  /** Why it is not up. */
  lastError = "";

  #closing = new AbortController();
  /** @type {Promise<void> | undefined} */
  #firstDial;

  /**
   * @param {() => Dial} options
   * @param {(state: State, reason: string) => void} onChange
   */
  constructor(options, onChange) {
    this.options = options;
    this.onChange = onChange;
  }

  /** Starts to connect, and keeps the connection up until close. */
  open() {
    if (this.state !== "idle") return;
    this.#set("connecting", "");
    this.#firstDial = new Promise((resolve) => {
      void this.#run(resolve);
    });
  }

  /**
   * Waits for the first attempt to connect and for no later one: nobody waits for a connection that
   * is known to be down.
   *
   * @param {number} ms at most
   * @returns {Promise<boolean>} whether the connection is up
   */
  async ready(ms) {
    this.open();
    if (this.state === "connecting" && ms > 0) {
      await Promise.race([this.#firstDial, sleep(ms, this.#closing.signal)]);
    }
    return this.state === "up";
  }

  /** @param {() => void} dialled called after the first attempt, successful or not */
  async #run(dialled) {
    for (let pause = 250; !this.#closing.signal.aborted; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
      try {
        const nc = await connectAny(this.options());
        if (this.#closing.signal.aborted) {
          await nc.close();
          break;
        }
        this.nc = nc;
        this.#up();
        dialled();
        pause = 125;
        const error = await nc.closed();
        this.#down(error ? message(error) : "the server closed the connection");
      } catch (error) {
        this.#down(message(error));
      }
      dialled();
      // With jitter: not all gateways at once when a server is back.
      await sleep(pause * (0.75 + Math.random() / 2), this.#closing.signal);
    }
    dialled();
  }

  #up() {
    this.lastError = "";
    this.#set("up", "");
  }

  /** @param {string} reason */
  #down(reason) {
    this.lastError = reason;
    this.#set("down", reason);
  }

  /**
   * @param {State} state
   * @param {string} reason
   */
  #set(state, reason) {
    if (this.state === state || this.state === "closed") return;
    this.state = state;
    this.onChange(state, reason);
  }

  async close() {
    if (this.state === "closed") return;
    this.#set("closed", "");
    this.#closing.abort();
    try {
      await Promise.race([this.nc?.close(), sleep(CLOSE_MS)]);
    } catch {
      // It is of no further use either way.
    }
  }
}

/**
 * Connects to the first server that is available, starting with a random one.
 *
 * @param {Dial} dial
 * @returns {Promise<NatsConnection>}
 */
async function connectAny({ context = "", ...options }) {
  /** @type {unknown} */
  let failure;
  const servers = [options.servers ?? []].flat();
  for (let i = Math.floor(Math.random() * servers.length), left = servers.length; left > 0; i++, left--) {
    const server = servers[i % servers.length] ?? "";
    /** @type {ConnectionOptions["tls"] | undefined} */
    let tls;
    try {
      tls = await greeted(server, options.tls, context);
      return await connect({ ...options, servers: [server], ...(tls && { tls }) });
    } catch (error) {
      failure = new Error(explained(error, tls !== undefined), { cause: error });
    }
  }
  throw failure;
}

/**
 * An error as text that names the option to check.
 *
 * @param {unknown} error
 * @param {boolean} encrypted whether the server's certificate had been verified
 */
function explained(error, encrypted) {
  const said = message(error);
  const code = String(/** @type {any} */ (error)?.code ?? "");
  if (error instanceof AuthorizationError) {
    return `${said}: check the user and password in natsUrl, or natsCreds, natsNkey, natsCert or natsContext`;
  }
  if (/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code)) {
    return `the server's certificate is not trusted (${code}): natsCa must be the authority that issued it`;
  }
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG") {
    return `the server does not begin with TLS (${code}): natsTlsFirst must be false, or handshake_first in the server's tls block`;
  }
  if (/^ERR_SSL_\w*ALERT/.test(code) || (encrypted && /^(ECONNRESET|EPIPE)$/.test(code))) {
    return `the server ended the TLS handshake (${code}): natsCert and natsKey must be a client certificate that it trusts`;
  }
  return said;
}

/**
 * Waits for a server's greeting. The client leaks a socket for each attempt at an address that
 * accepts connections and stays silent (a load balancer without servers, say), so this checks
 * first.
 *
 * @param {string} server host:port
 * @param {ConnectionOptions["tls"]} tls
 * @param {string} context when it names the user, a server that asks for none is another one, and gets no password
 * @returns {Promise<ConnectionOptions["tls"] | undefined>} TLS options when the server offers TLS
 */
function greeted(server, tls, context) {
  const { hostname, port } = new URL(`nats://${server}`);
  const host = hostname.replace(/^\[|\]$/g, "");
  // Given an IP address the client passes no host to TLS, which would then expect "localhost".
  const encrypted = { ...tls, host };
  const servername = isIP(host) ? "" : host;
  if (tls?.handshakeFirst) return encryptedFirst({ ...encrypted, port: Number(port) || 4222, servername }, encrypted);
  return new Promise((resolve, reject) => {
    const failed = (/** @type {NodeJS.ErrnoException} */ error) =>
      reject(error.code === "ECONNREFUSED" ? new Error("connection refused") : error);
    const socket = dial({ host, port: Number(port) || 4222 });
    socket.setTimeout(DIAL_MS, () => socket.destroy(new Error("the server sent no greeting")));
    socket.once("data", (info) => {
      if (context && !/"auth_required":\s*true/.test(info.toString())) {
        socket.destroy(new Error(`the server asks for no user, so it is not that of ${context}`));
        return;
      }
      if (!/"tls_(required|available)":\s*true/.test(info.toString())) {
        resolve(undefined);
        socket.destroy();
        return;
      }
      // Leaving during the handshake would put an error into the server's log each time.
      const channel = secure({ ...encrypted, socket, servername }, () => {
        resolve(encrypted);
        channel.destroySoon();
      });
      channel.on("error", failed);
    });
    socket.on("error", failed);
    socket.on("close", () => reject(new Error("the server closed the connection")));
  });
}

/**
 * Makes sure that a server which begins with TLS is there, as greeted does for others.
 *
 * @param {import("node:tls").ConnectionOptions} to
 * @param {NonNullable<ConnectionOptions["tls"]>} encrypted
 * @returns {Promise<ConnectionOptions["tls"]>} the TLS options
 */
function encryptedFirst(to, encrypted) {
  return new Promise((resolve, reject) => {
    const channel = secure(to, () => {
      resolve(encrypted);
      channel.destroySoon();
    });
    channel.setTimeout(DIAL_MS, () => channel.destroy(new Error("the server did not answer the TLS handshake")));
    channel.on("error", (/** @type {NodeJS.ErrnoException} */ error) => reject(error.code === "ECONNREFUSED" ? new Error("connection refused") : error));
    channel.on("close", () => reject(new Error("the server closed the connection")));
  });
}

/**
 * Sleeps without keeping the process alive.
 *
 * @param {number} ms
 * @param {AbortSignal} [signal] ends it early
 * @returns {Promise<void>}
 */
function sleep(ms, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    signal?.addEventListener("abort", end);
  });
}
