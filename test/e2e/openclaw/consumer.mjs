// The consumer and NATS, as processes.

import { execFile } from "node:child_process";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort, Process, until } from "./process.mjs";

const bin = process.env.E2E_BIN;

export class Consumer {
  /** The program. */
  program = join(bin, "consumer");

  /**
   * @param {string} dir where data goes.
   * @param {string} config the gateway's openclaw.json, of which the consumer reads the plugin's entry.
   * @param {object} [more]
   * @param {object} [more.site] where it is a user without rights to more than its work, and sessions are in the bucket.
   * @param {object} [more.settings] environment variables.
   */
  constructor(dir, config, { site, settings } = {}) {
    this.dir = dir;
    this.config = config;
    this.site = site;
    this.settings = settings;
  }

  async start() {
    this.http ??= `127.0.0.1:${await freePort()}`;
    await mkdir(this.dir, { recursive: true });
    this.env = {
      PATH: process.env.PATH,
      HOME: this.dir,
      HINT_DATA_DIR: join(this.dir, "data"),
      HINT_CONFIG: this.config,
      HINT_HTTP_ADDR: this.http,
      HINT_AUTH: "off", // these tests are about something else
      HINT_LOG_FORMAT: "json",
      HINT_REPEAT: "always", // most tests look at the hint of every turn
      HINT_MIN_CONFIDENCE: "0", // and send texts that mean nothing
      ...this.site?.settings("consumer"),
      ...this.settings,
    };
    this.process = new Process(this.program, [], { cwd: this.dir, env: this.env });
    await until("the consumer is ready", async () => {
      if (!this.process.alive) throw new Error(`the consumer has ended:\n${this.process.output}`);
      return (await this.#get("/readyz"))?.ok;
    });
    return this;
  }

  stop() {
    return this.process.stop();
  }

  kill() {
    return this.process.kill();
  }

  /** What a command of the consumer prints, in the environment of this one. */
  async run(...args) {
    const { stdout } = await promisify(execFile)(join(bin, "consumer"), args, { cwd: this.dir, env: this.env });
    return stdout;
  }

  async #get(path) {
    return fetch(`http://${this.http}${path}`).catch(() => undefined);
  }

  /** The sum of a counter over all series with the given labels. */
  async counter(name, labels = {}) {
    const text = await (await this.#get("/metrics"))?.text();
    return (text ?? "")
      .split("\n")
      .filter((line) => line.startsWith(`intenthint_${name}{`) || line.startsWith(`intenthint_${name} `))
      .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  /** All session files, or those that the operator exports from the bucket. */
  async sessions() {
    const dir = join(this.dir, "data", "sessions");
    if (this.site) await promisify(execFile)(join(bin, "consumer"), ["sessions", "export", dir], { env: this.site.settings("operator") });
    const names = await readdir(dir).catch(() => []);
    const files = names.filter((name) => name.endsWith(".json"));
    return Promise.all(files.map(async (name) => JSON.parse(await readFile(join(dir, name), "utf8"))));
  }

  /** All turns of the sessions with the key, oldest first. */
  async turns(sessionKey) {
    const found = (await this.sessions()).filter((session) => session.sessionKey === sessionKey);
    return found
      .flatMap((session) => [...(session.history ?? []), session.current])
      .filter(Boolean)
      .sort((a, b) => a.timestamps.start.localeCompare(b.timestamps.start));
  }
}

/** A separate NATS server. */
export class Nats {
  constructor(dir) {
    this.dir = dir;
  }

  async start() {
    this.port ??= await freePort();
    this.process = new Process(join(bin, "nats-server"), ["-a", "127.0.0.1", "-p", String(this.port), "-js", "-sd", this.dir], { cwd: "/", env: {} });
    await until("the NATS server is ready", () => {
      if (!this.process.alive) throw new Error(`the NATS server has ended:\n${this.process.output}`);
      return this.process.output.includes("Server is ready");
    });
    return this;
  }

  get url() {
    return `nats://127.0.0.1:${this.port}`;
  }

  stop() {
    return this.process.stop();
  }
}
