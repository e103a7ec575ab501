// A NATS server with the configuration of deploy/, on loopback: TLS, client certificates, least rights.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { nkeys } from "@nats-io/transport-node";

import { eventually, freePort } from "./consumer.js";

const deploy = fileURLToPath(new URL("../../deploy", import.meta.url));

// A test file that times out is ended by a signal; what it started ends with it.
process.once("SIGTERM", () => process.exit(143));

/**
 * Starts a process and waits until it has logged a text.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @param {string} ready
 */
export async function launch(file, args, env, ready) {
  const child = spawn(file, args, { env: { PATH: process.env.PATH ?? "", ...env } });
  const kill = () => child.kill("SIGKILL");
  process.on("exit", kill);
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (log += chunk));
  const ended = once(child, "close").then(() => process.off("exit", kill));
  await eventually(`${file} logs ${ready}`, () => {
    if (child.exitCode !== null) throw new Error(`${file} has ended:\n${log}`);
    return log.includes(ready);
  }, 60_000);
  return {
    get log() {
      return log;
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/**
 * Starts a NATS server with a configuration.
 *
 * @param {string} bin the directory of the programs
 * @param {string} dir of its files
 * @param {string} conf
 * @param {Record<string, string>} [env]
 * @param {number} [at] its port, free by default
 */
export async function startNats(bin, dir, conf, env = {}, at = 0) {
  mkdirSync(dir, { recursive: true });
  const port = at || (await freePort());
  const file = join(dir, `${port}.conf`);
  writeFileSync(file, `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${dir}/js-${port}" }\n${conf}\n`);
  const server = await launch(join(bin, "nats-server"), ["-c", file], env, "Server is ready");
  return { ...server, port, get log() { return server.log; } };
}

/** Whether this machine has openssl, for certificates. */
export const openssl = spawnSync("openssl", ["version"]).status === 0;

/** Makes the certificates of a site, with an authority of its own. @param {string} dir */
export function certificates(dir) {
  execFileSync(join(deploy, "certificates.sh"), [dir, "127.0.0.1"], { stdio: ["ignore", "ignore", "pipe"] });
}

/**
 * Starts the server and creates its streams with `consumer stream apply`, as the operator.
 *
 * @param {string} bin
 * @param {string} dir
 */
export async function startSite(bin, dir) {
  const pki = join(dir, "pki");
  certificates(pki);
  const accounts = readFileSync(join(deploy, "accounts.conf"), "utf8");
  // A second gateway, with a key instead of a password.
  const may = 'permissions: { publish: $GATEWAY_PUBLISHES, subscribe: ["_INBOX_gateway.>"] }';
  const first = `{ user: gateway, password: $GATEWAY_PASSWORD, ${may} }`;
  if (!accounts.includes(first)) throw new Error("accounts.conf has another gateway");
  writeFileSync(join(dir, "accounts.conf"), accounts.replace(first, `${first}\n      { nkey: $GATEWAY_NKEY, ${may} }`));
  cpSync(join(deploy, "tls.conf"), join(dir, "tls.conf"));
  const key = nkeys.createUser();
  const nats = await startNats(bin, dir, 'include "accounts.conf"\ninclude "tls.conf"', {
    NATS_CERT: join(pki, "127.0.0.1.pem"),
    NATS_KEY: join(pki, "127.0.0.1.key"),
    NATS_CA: join(pki, "ca.pem"),
    GATEWAY_NKEY: key.getPublicKey(),
    ...Object.fromEntries(["gateway", "gateway2", "consumer", "operator", "system"].map((user) => [`${user.toUpperCase()}_PASSWORD`, password(user)])),
  });
  const url = (/** @type {string} */ user) => `tls://${user}:${encodeURIComponent(password(user))}@127.0.0.1:${nats.port}`;
  /** A user's environment, as in consumer.env.example. @param {string} user */
  const settings = (user) => ({
    HINT_NATS_URL: url(user),
    HINT_NATS_INBOX_PREFIX: `_INBOX_${user}`,
    HINT_NATS_CA: join(pki, "ca.pem"),
    HINT_NATS_CERT: join(pki, `${user}.pem`),
    HINT_NATS_KEY: join(pki, `${user}.key`),
    HINT_STORE: "kv",
    HINT_DATA_DIR: join(dir, user),
  });
  /** Runs a command as the operator. @param {string[]} args */
  const operate = (...args) =>
    execFileSync(join(bin, "consumer"), args, {
      cwd: dir,
      env: { PATH: process.env.PATH ?? "", ...settings("operator") },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  operate("stream", "apply", "--yes");
  return {
    nats,
    settings,
    operate,
    /** The plugin's options of a gateway. */
    options: {
      natsUrl: url("gateway"),
      natsInboxPrefix: "_INBOX_gateway",
      natsCa: join(pki, "ca.pem"),
      natsCert: join(pki, "gateway.pem"),
      natsKey: join(pki, "gateway.key"),
    },
    seed: new TextDecoder().decode(key.getSeed()),
    stop: () => nats.stop(),
  };
}

/** A password with characters that a URL must escape. @param {string} user */
const password = (user) => `${user}/p@ss:50%`;

/**
 * A server's configuration in operator mode, and credentials of users of its one account.
 *
 * @param {object} permissions of a gateway
 */
export function operatorMode(permissions) {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const all = { subs: -1, data: -1, payload: -1 };
  const streams = { imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  /** @param {object} rights */
  const creds = (rights) => {
    const user = nkeys.createUser();
    const jwt = signed(account, user, { type: "user", ...all, ...rights });
    return decorated("NATS USER JWT", jwt) + decorated("USER NKEY SEED", new TextDecoder().decode(user.getSeed()));
  };
  return {
    conf: `operator: ${signed(operator, operator, { type: "operator" })}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: {
  ${system.getPublicKey()}: ${signed(operator, system, { type: "account", limits: { ...all, conn: -1, exports: -1 } })}
  ${account.getPublicKey()}: ${signed(operator, account, { type: "account", limits: { ...all, ...streams } })}
}`,
    gateway: creds(permissions),
    consumer: creds({}),
  };
}

/**
 * Signs a NATS JSON web token.
 *
 * @param {import("@nats-io/transport-node").nkeys.KeyPair} issuer
 * @param {import("@nats-io/transport-node").nkeys.KeyPair} subject
 * @param {object} nats
 */
function signed(issuer, subject, nats) {
  const claims = { iat: 1, iss: issuer.getPublicKey(), sub: subject.getPublicKey(), nats: { version: 2, ...nats } };
  const parts = [{ typ: "JWT", alg: "ed25519-nkey" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${parts}.${Buffer.from(issuer.sign(Buffer.from(parts))).toString("base64url")}`;
}

/** A secret as in a NATS credentials file. @param {string} what @param {string} secret */
export const decorated = (what, secret) => `-----BEGIN ${what}-----\n${secret}\n------END ${what}------\n\n`;
