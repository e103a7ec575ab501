// Where to connect and as whom: from the options, or from a context of the nats command line (contract
// §9, "Who may come in").

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";

import { credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

import { message, record } from "./values.js";

/**
 * @typedef {import("@nats-io/transport-node").ConnectionOptions & {context?: string}} Dial context is the file that names the user: its password is for a server that asks for one
 */

/** Limit for one attempt to connect, in ms. */
export const DIAL_MS = 2000;

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
  if (options.natsTlsFirst) out.tls = { ...out.tls, handshakeFirst: true };
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


/** The context that a consumer on this machine writes for gateways. */
const DEFAULT_CONTEXT = "intenthint";

/**
 * Options of the connection that may come from a context.
 *
 * @typedef {Pick<import("./config.js").Options, "natsUrl" | "natsCreds" | "natsNkey" | "natsCa" | "natsCert" | "natsKey" | "natsTlsFirst" | "natsInboxPrefix"> & {user: string, password: string, token: string, context: string}} Place
 */

/**
 * The options of the connection, completed by the context that natsContext names, or, without
 * natsUrl, by the one of the consumer on this machine, if there is one. Single options win over it.
 * It reads the file each time, as a consumer may write it later, or anew.
 *
 * @param {import("./config.js").Options} options
 * @returns {Place} context is the file that names the user, "" for none
 */
export function place(options) {
  const { natsUrl, natsCreds, natsNkey, natsCa, natsCert, natsKey, natsTlsFirst, natsInboxPrefix } = options;
  const given = { natsUrl, natsCreds, natsNkey, natsCa, natsCert, natsKey, natsTlsFirst, natsInboxPrefix, user: "", password: "", token: "", context: "" };
  const local = { ...given, natsUrl: natsUrl.length > 0 ? natsUrl : [`nats://127.0.0.1:${options.natsPort}`] };
  if (natsUrl.length > 0 && options.natsContext === "") return local;
  const file = fileOf(options.natsContext || DEFAULT_CONTEXT);
  const found = readContext(file, options.natsContext !== "");
  if (found === undefined) return local;
  const text = (/** @type {string} */ name) => (typeof found[name] === "string" ? found[name] : "");
  const path = (/** @type {string} */ name) => text(name).replace(/^~(?=\/)/, homedir());
  const servers = text("url").split(",").map((url) => url.trim()).filter((url) => url !== "");
  // The consumer's context is for its own port, and its password for no other server.
  if (options.natsContext === "" && !servers.some((url) => new RegExp(`:${options.natsPort}/?$`).test(url))) return local;
  // A user of the options replaces that of the context, whatever it proves itself with.
  const own = natsUrl.some((url) => url.includes("@")) || natsCreds !== "" || natsNkey !== "";
  const who = (/** @type {string} */ name) => (own ? "" : path(name));
  return {
    natsUrl: natsUrl.length > 0 ? natsUrl : servers.length > 0 ? servers : local.natsUrl,
    natsCreds: natsCreds || who("creds"),
    natsNkey: natsNkey || who("nkey"),
    natsCa: natsCa || path("ca"),
    natsCert: natsCert || path("cert"),
    natsKey: natsKey || path("key"),
    natsTlsFirst: natsTlsFirst || found.tls_first === true,
    natsInboxPrefix: natsInboxPrefix || text("inbox_prefix"),
    user: who("user"),
    password: own ? "" : text("password"),
    token: own ? "" : text("token"),
    context: !own && (text("password") || text("token")) ? file : "",
  };
}

/** The file of a context, which is given by its name or is a file. @param {string} context */
function fileOf(context) {
  if (/[/\\]|\.json$/.test(context)) return context;
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "nats", "context", `${context}.json`);
}

/**
 * @param {string} file
 * @param {boolean} required
 * @returns {Record<string, any> | undefined} undefined when there is none, and none is required
 */
function readContext(file, required) {
  try {
    return record(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    if (!required && /** @type {any} */ (error)?.code === "ENOENT") return undefined;
    // The parser's own words quote the text, which holds a password.
    throw new Error(`natsContext: ${file}: ${error instanceof SyntaxError ? "it is not JSON" : message(error)}`, { cause: error });
  }
}
