// Processes that end with the tests, and waiting for conditions.

import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const [signal, number] of [["SIGHUP", 1], ["SIGINT", 2], ["SIGTERM", 15]]) process.on(signal, () => process.exit(128 + number));

/** A process with recorded output. */
export class Process {
  output = "";

  constructor(file, args, { env, cwd }) {
    this.name = [file.split("/").pop(), ...args].join(" ");
    this.child = spawn(file, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
    running.add(this.child);
    this.stdout = "";
    this.child.stdout.on("data", (data) => {
      this.stdout += data;
      this.output += data;
    });
    this.child.stderr.on("data", (data) => (this.output += data));
    this.ended = new Promise((resolve) => {
      this.child.once("error", (error) => {
        this.output += error;
        running.delete(this.child);
        resolve(-1);
      });
      this.child.once("close", (code) => {
        running.delete(this.child);
        resolve(code ?? -1);
      });
    });
  }

  get alive() {
    return running.has(this.child);
  }

  /** Terminates it, and kills it after a while. */
  async stop() {
    this.child.kill("SIGTERM");
    const patience = setTimeout(() => this.child.kill("SIGKILL"), 15_000);
    const code = await this.ended;
    clearTimeout(patience);
    return code;
  }

  /** Kills it, as the kernel does without memory. */
  async kill() {
    this.child.kill("SIGKILL");
    return this.ended;
  }
}

/**
 * Waits until a function returns something true, which is returned.
 * @param {string} what is waited for, for the report.
 */
export async function until(what, check, ms = 60_000) {
  const end = performance.now() + ms;
  for (;;) {
    const got = await check();
    if (got) return got;
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await delay(20);
  }
}

/**
 * A port that nothing listens on, below those that systems give to outgoing
 * connections (Linux from 32768, others from 49152): one of those could be
 * taken again before the process that it is for has started.
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    const server = createServer();
    const free = await new Promise((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}
