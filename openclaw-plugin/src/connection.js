// One NATS connection that is dialled until it is up, and again when it is lost.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect as dial, isIP } from "node:net";
import { connect as secure, createSecureContext } from "node:tls";

import { AuthorizationError, connect, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

import { place } from "./context.js";
import { message } from "./values.js";

/**
 * @typedef {import("@nats-io/transport-node").NatsConnection} NatsConnection
 * @typedef {import("@nats-io/transport-node").ConnectionOptions} ConnectionOptions
 * @typedef {"idle" | "connecting" | "up" | "down" | "closed"} State
 * @typedef {ConnectionOptions & {context?: string}} Dial context is the file that names the user: its password is for a server that asks for one
 */

/** Limit for one attempt to connect. */
const DIAL_MS = 2000;

/** Limit for closing; a server that no longer reads could block it. */
const CLOSE_MS = 500;

/** The longest pause between attempts. */
const MAX_PAUSE_MS = 5000;

/**
 * Turns the plugin's options into the client's. Reads files, and throws when one is unreadable.
 *
 * @param {import("./config.js").Options} given
 * @returns {Dial}
 */
export function connectionOptions(given) {
  const options = place(given);
  /** @type {Dial} */
  const out = {
    ...(options.context && { context: options.context }),
    ...(options.user && { user: options.user, pass: options.password }),
    ...(options.token && { token: options.token }),
    name: "openclaw-plugin-intenthint",
    servers: [],
    timeout: DIAL_MS,
    reconnect: false, // Connection redials by itself, on timers that keep no process alive
    pingInterval: 10_000,
    maxPingOut: 2,
  };
  const hosts = [];
  for (const server of options.natsUrl) {
    const url = named("natsUrl", () => new URL(server.includes("://") ? server : `nats://${server}`));
    if (url.protocol !== "nats:" && url.protocol !== "tls:") {
      throw new Error(`natsUrl: only nats:// and tls:// addresses are supported, not ${url.protocol}//`);
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
    named(`natsCa: ${options.natsCa}`, () => new X509Certificate(ca)); // the client would trust no server and give no reason
    out.tls = { ca };
  }
  if (options.natsCert !== "" || options.natsKey !== "") {
    if (options.natsCert === "" || options.natsKey === "") throw new Error("natsCert and natsKey: one of the two is missing");
    const pair = { cert: read("natsCert", options.natsCert), key: read("natsKey", options.natsKey) };
    named("natsCert and natsKey", () => createSecureContext(pair));
    out.tls = { ...out.tls, ...pair };
  }
  if (options.natsInboxPrefix !== "") out.inboxPrefix = options.natsInboxPrefix;
  return out;
}

/**
 * Prefixes errors with the option that caused them.
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
 * An authenticator made from a credentials file. The client's parser needs Unix line ends and a
 * final one; the consumer reads the same file and takes any.
 *
 * @param {string} option
 * @param {string} path
 * @param {(text: string) => import("@nats-io/transport-node").Authenticator} authenticator
 */
function proof(option, path, authenticator) {
  const text = `${read(option, path).replaceAll("\r\n", "\n")}\n`;
  return named(`${option}: ${path}`, () => {
    const signs = authenticator(text);
    signs("nonce"); // so that it fails here and not during the handshake
    return signs;
  });
}

/**
 * The seed in a file that may hold comments and decoration.
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
