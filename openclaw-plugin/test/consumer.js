// The consumer, built from this repository and run as a process.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { connect } from "@nats-io/transport-node";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Builds the consumer into a temporary directory. @param {string[]} more programs to build */
export function build(...more) {
  const directory = mkdtempSync(join(tmpdir(), "intenthint-"));
  const binary = join(directory, "consumer");
  execFileSync("go", ["build", "-o", `${directory}/`, "./cmd/consumer", ...more], { cwd: repository, stdio: ["ignore", "ignore", "inherit"] });
  return { directory, binary, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Starts a consumer with its own NATS server, and waits until it serves.
 *
 * @param {ReturnType<typeof build>} built
 * @param {object} options
 * @param {number} options.port
 * @param {string} options.name of its data directory
 * @param {string} [options.conf] more of its server's configuration
 * @param {string} [options.user] name:password, when the configuration has users
 */
export async function start(built, { port, name, conf, user = "" }) {
  const data = join(built.directory, name);
  // The original form names the goal, and so what was asked.
  /** @type {Record<string, string>} */
  const settings = { HINT_NATS_PORT: String(port), HINT_DATA_DIR: data, HINT_HTTP_ADDR: "off", HINT_AUTH: "off", HINT_LOG_FORMAT: "json", HINT_REPEAT: "always", HINT_FORM: "original", HINT_EMBEDDING_MODEL: "off" };
  if (conf !== undefined) {
    settings.HINT_NATS_CONF = join(built.directory, `${name}.conf`);
    writeFileSync(settings.HINT_NATS_CONF, `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${data}/js" }\n${conf}\n`);
  }
  const child = spawn(built.binary, { cwd: built.directory, env: { PATH: process.env.PATH ?? "", ...settings } });
  let log = "";
  child.stderr.on("data", (chunk) => (log += chunk));
  child.stdout.on("data", (chunk) => (log += chunk));
  const exited = once(child, "exit");
  await serving(port, user, () => child.exitCode === null, () => log);
  return {
    url: `nats://127.0.0.1:${port}`,
    data,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
    /** Kills it, as a crash would. */
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/**
 * $SRV.PING is answered only once streams and durable exist (contract §2).
 *
 * @param {number} port
 * @param {string} user
 * @param {() => boolean} alive
 * @param {() => string} log
 */
async function serving(port, user, alive, log) {
  const [name, pass] = user.split(":");
  for (const deadline = performance.now() + 30_000; performance.now() < deadline && alive(); ) {
    try {
      const nc = await connect({ servers: [`127.0.0.1:${port}`], reconnect: false, timeout: 1000, ...(user && { user: name, pass }) });
      try {
        await nc.request("$SRV.PING.intent-hint", "", { timeout: 1000 });
        return;
      } finally {
        await nc.close();
      }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`the consumer is not serving:\n${log()}`);
}

/**
 * Polls until a condition holds that another process brings about.
 *
 * @param {string} what
 * @param {() => unknown} holds
 * @param {number} [ms]
 */
export async function eventually(what, holds, ms = 15_000) {
  for (const deadline = performance.now() + ms; performance.now() < deadline; ) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`not within ${ms} ms: ${what}`);
}
