// One NATS connection that is dialled until it stands, and again when it is lost.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect as dial, isIP } from "node:net";
import { connect as secure, createSecureContext } from "node:tls";

import { AuthorizationError, connect, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

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
    const url = named("natsUrl", () => new URL(server.includes("://") ? server : `nats://${server}`));
    if (url.protocol !== "nats:" && url.protocol !== "tls:") {
      throw new Error(`natsUrl: a gateway connects to nats:// and tls:// addresses, not to ${url.protocol}//`);
    }
    hosts.push(url.host);
    if (url.protocol === "tls:") out.tls = {};
    const [name, password] = named("natsUrl", () => [url.username, url.password].map(decodeURIComponent));
    if (password) {
      out.user = name;
      out.pass = password;
    } else if (name) {
      out.token = name;
    }
  }
  out.servers = hosts;
  if (options.natsCreds !== "") {
    out.authenticator = proof("natsCreds", options.natsCreds, (text) => credsAuthenticator(Buffer.from(text)));
  } else if (options.natsNkey !== "") {
    out.authenticator = proof("natsNkey", options.natsNkey, (text) => nkeyAuthenticator(Buffer.from(seedIn(text))));
  }
  if (options.natsCa !== "") {
    const ca = read("natsCa", options.natsCa);
    named(`natsCa: ${options.natsCa}`, () => new X509Certificate(ca)); // the client would trust nobody, and not say why
    out.tls = { ca };
  }
  if (options.natsCert !== "" || options.natsKey !== "") {
    if (options.natsCert === "" || options.natsKey === "") throw new Error("natsCert and natsKey: one of them is missing");
    const pair = { cert: read("natsCert", options.natsCert), key: read("natsKey", options.natsKey) };
    named("natsCert and natsKey", () => createSecureContext(pair));
    out.tls = { ...out.tls, ...pair };
  }
  if (options.natsInboxPrefix !== "") out.inboxPrefix = options.natsInboxPrefix;
  return out;
}

/**
 * Names the option in what goes wrong with it.
 *
 * @template T
 * @param {string} option
 * @param {() => T} get
 * @returns {T}
 */
function named(option, get) {
  try {
    return get();
  } catch (error) {
    throw new Error(`${option}: ${message(error)}`, { cause: error });
  }
}

/**
 * @param {string} option
 * @param {string} path
 */
function read(option, path) {
  return named(option, () => readFileSync(path, "utf8"));
}

/**
 * What proves to a server who this is, from a file. The client takes lines as Unix ends them, the
 * last one too; the consumer reads the same file and takes any.
 *
 * @param {string} option
 * @param {string} path
 * @param {(text: string) => import("@nats-io/transport-node").Authenticator} authenticator
 */
function proof(option, path, authenticator) {
  const text = `${read(option, path).replaceAll("\r\n", "\n")}\n`;
  return named(`${option}: ${path}`, () => {
    const signs = authenticator(text);
    signs("nonce"); // fails here and not in mid-connection
    return signs;
  });
}

/**
 * The seed in a file that may have comments and decoration around it.
 *
 * @param {string} text
 */
function seedIn(text) {
  return /^\s*(S[AOU][A-Z2-7]{56})\s*$/m.exec(text)?.[1] ?? text;
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
    /** @type {ConnectionOptions["tls"] | undefined} */
    let tls;
    try {
      tls = await greeted(server, options.tls);
      return await connect({ ...options, servers: [server], ...(tls && { tls }) });
    } catch (error) {
      failure = new Error(explained(error, tls !== undefined), { cause: error });
    }
  }
  throw failure;
}

/**
 * What went wrong, and which option to look at.
 *
 * @param {unknown} error
 * @param {boolean} encrypted whether it went wrong after the server had proved who it is
 */
function explained(error, encrypted) {
  const said = message(error);
  const code = String(/** @type {any} */ (error)?.code ?? "");
  if (error instanceof AuthorizationError) {
    return `${said}: check the user and password in natsUrl, or natsCreds, natsNkey or natsCert`;
  }
  if (/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code)) {
    return `the server's certificate is not trusted (${code}): natsCa must be the authority that it comes from`;
  }
  if (/^ERR_SSL_\w*ALERT/.test(code) || (encrypted && /^(ECONNRESET|EPIPE)$/.test(code))) {
    return `the server ended the TLS handshake (${code}): natsCert and natsKey must be a client certificate that it trusts`;
  }
  return said;
}

/**
 * Waits for a server's greeting. The client leaves an open socket behind for each attempt at
 * something that takes connections and says nothing (a load balancer without servers, say), so
 * that is found out before.
 *
 * @param {string} server host:port
 * @param {ConnectionOptions["tls"]} tls
 * @returns {Promise<ConnectionOptions["tls"] | undefined>} for the connection, when it is to be encrypted
 */
function greeted(server, tls) {
  const { hostname, port } = new URL(`nats://${server}`);
  const host = hostname.replace(/^\[|\]$/g, "");
  // The client names no host that is an address, and the certificate would have to be for "localhost".
  const encrypted = { ...tls, host };
  return new Promise((resolve, reject) => {
    const failed = (/** @type {NodeJS.ErrnoException} */ error) =>
      reject(error.code === "ECONNREFUSED" ? new Error("connection refused") : error);
    const socket = dial({ host, port: Number(port) || 4222 });
    socket.setTimeout(DIAL_MS, () => socket.destroy(new Error("the server says nothing")));
    socket.once("data", (info) => {
      if (!/"tls_(required|available)":\s*true/.test(info.toString())) {
        resolve(undefined);
        socket.destroy();
        return;
      }
      // To leave in mid-handshake would be an error in the server's log, at each connection.
      const channel = secure({ ...encrypted, socket, servername: isIP(host) ? "" : host }, () => {
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
