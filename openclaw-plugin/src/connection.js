// One NATS connection that is dialled until it stands, and again when it is lost.

import { readFileSync } from "node:fs";
import { connect as dial } from "node:net";

import { connect, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

import { message } from "./values.js";

/**
 * @typedef {import("@nats-io/transport-node").NatsConnection} NatsConnection
 * @typedef {import("@nats-io/transport-node").ConnectionOptions} ConnectionOptions
 * @typedef {"idle" | "connecting" | "up" | "down" | "closed"} State
 */

/** How long one attempt to connect may take. */
const DIAL_MS = 2000;

/** How long a connection may take to close; a server that no longer reads could hold it up. */
const CLOSE_MS = 500;

/** The longest pause between two attempts. */
const MAX_PAUSE_MS = 5000;

/**
 * The options of the client for the plugin's. Reads files, and throws when one cannot be read.
 *
 * @param {import("./config.js").Options} options
 * @returns {ConnectionOptions}
 */
export function connectionOptions(options) {
  const servers = options.natsUrl.length > 0 ? options.natsUrl : [`nats://127.0.0.1:${options.natsPort}`];
  /** @type {ConnectionOptions} */
  const out = {
    name: "openclaw-plugin-intenthint",
    servers: [],
    timeout: DIAL_MS,
    reconnect: false, // Connection dials again, and keeps no process alive over it
    pingInterval: 10_000,
    maxPingOut: 2,
  };
  const hosts = [];
  for (const server of servers) {
    const url = new URL(server.includes("://") ? server : `nats://${server}`);
    hosts.push(url.host);
    if (url.protocol === "tls:") out.tls = {};
    if (url.password !== "") {
      out.user = decodeURIComponent(url.username);
      out.pass = decodeURIComponent(url.password);
    } else if (url.username !== "") {
      out.token = decodeURIComponent(url.username);
    }
  }
  out.servers = hosts;
  if (options.natsCreds !== "") out.authenticator = credsAuthenticator(readFileSync(options.natsCreds));
  else if (options.natsNkey !== "")
    out.authenticator = nkeyAuthenticator(Buffer.from(readFileSync(options.natsNkey, "utf8").trim()));
  if (options.natsCa !== "" || options.natsCert !== "") {
    out.tls = {
      ...(options.natsCa === "" ? {} : { ca: readFileSync(options.natsCa, "utf8") }),
      ...(options.natsCert === ""
        ? {}
        : { cert: readFileSync(options.natsCert, "utf8"), key: readFileSync(options.natsKey, "utf8") }),
    };
  }
  if (options.natsInboxPrefix !== "") out.inboxPrefix = options.natsInboxPrefix;
  return out;
}

export class Connection {
  /** @type {State} */
  state = "idle";
  /** @type {NatsConnection | undefined} */
  nc;
  /** Why it does not stand. */
  lastError = "";

  #closing = new AbortController();
  /** @type {Promise<void> | undefined} */
  #firstDial;

  /**
   * @param {() => ConnectionOptions} options
   * @param {(state: State, reason: string) => void} onChange
   */
  constructor(options, onChange) {
    this.options = options;
    this.onChange = onChange;
  }

  /** Begins to connect; it goes on until close. */
  open() {
    if (this.state !== "idle") return;
    this.#set("connecting", "");
    this.#firstDial = new Promise((resolve) => {
      void this.#run(resolve);
    });
  }

  /**
   * Waits for the first attempt to connect, and for no other: when a connection is known not to
   * stand nobody waits for it.
   *
   * @param {number} ms at most
   * @returns {Promise<boolean>} whether the connection stands
   */
  async ready(ms) {
    this.open();
    if (this.state === "connecting" && ms > 0) {
      await Promise.race([this.#firstDial, sleep(ms, this.#closing.signal)]);
    }
    return this.state === "up";
  }

  /** @param {() => void} dialled called after the first attempt, whatever came of it */
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
      // Not all gateways at once when a server comes back.
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
      // It is of no use any more either way.
    }
  }
}

/**
 * Connects to the first server, in an order by chance, that can be had.
 *
 * @param {ConnectionOptions} options
 * @returns {Promise<NatsConnection>}
 */
async function connectAny(options) {
  /** @type {unknown} */
  let failure;
  const servers = [options.servers ?? []].flat();
  for (let i = Math.floor(Math.random() * servers.length), left = servers.length; left > 0; i++, left--) {
    const server = servers[i % servers.length] ?? "";
    try {
      await greeted(server);
      return await connect({ ...options, servers: [server] });
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/**
 * Waits for a server's greeting. The client leaves an open socket behind for each attempt at
 * something that takes connections and says nothing (a load balancer without servers, say), so
 * that is found out before.
 *
 * @param {string} server host:port
 * @returns {Promise<void>}
 */
function greeted(server) {
  const { hostname, port } = new URL(`nats://${server}`);
  return new Promise((resolve, reject) => {
    const socket = dial({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || 4222 });
    socket.setTimeout(DIAL_MS, () => socket.destroy(new Error("the server says nothing")));
    socket.once("data", () => {
      resolve();
      socket.destroy();
    });
    socket.on("error", (error) => {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      reject(code === "ECONNREFUSED" ? new Error("connection refused") : error);
    });
    socket.on("close", () => reject(new Error("the server closed the connection")));
  });
}

/**
 * Waits, without keeping the process alive.
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
