// Where to connect and as whom, where the options leave it to a context of the nats command line
// (contract §9, "Who may come in").

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { message, record } from "./values.js";

/** The context that a consumer on this machine writes for gateways. */
const DEFAULT_CONTEXT = "intenthint";

/**
 * Options of the connection that may come from a context.
 *
 * @typedef {Pick<import("./config.js").Options, "natsUrl" | "natsCreds" | "natsNkey" | "natsCa" | "natsCert" | "natsKey" | "natsInboxPrefix"> & {user: string, password: string, token: string, context: string}} Place
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
  const { natsUrl, natsCreds, natsNkey, natsCa, natsCert, natsKey, natsInboxPrefix } = options;
  const given = { natsUrl, natsCreds, natsNkey, natsCa, natsCert, natsKey, natsInboxPrefix, user: "", password: "", token: "", context: "" };
  const local = { ...given, natsUrl: natsUrl.length > 0 ? natsUrl : [`nats://127.0.0.1:${options.natsPort}`] };
  if (natsUrl.length > 0 && options.natsContext === "") return local;
  const file = fileOf(options.natsContext || DEFAULT_CONTEXT);
  const found = read(file, options.natsContext !== "");
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
function read(file, required) {
  try {
    return record(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    if (!required && /** @type {any} */ (error)?.code === "ENOENT") return undefined;
    // The parser's own words quote the text, which holds a password.
    throw new Error(`natsContext: ${file}: ${error instanceof SyntaxError ? "it is not JSON" : message(error)}`, { cause: error });
  }
}
