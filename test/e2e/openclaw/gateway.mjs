// A real OpenClaw gateway with the plugin, its own home directory, a scripted
// model and a scripted Telegram.

import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, Process, until } from "./process.mjs";

const openclaw = process.env.E2E_OPENCLAW;
const here = dirname(fileURLToPath(import.meta.url));

export const pluginId = "intention-hint";
export const pluginDir = join(here, "..", "..", "..", "openclaw-plugin");
export const stopwatchDir = join(here, "stopwatch");

export class Gateway {
  #token = randomUUID();
  #waiting = new Map(); // request id → {resolve, reject}
  /** Where the plugin is. */
  pluginDir = pluginDir;

  /**
   * @param {object} given
   * @param {string} given.dir where its home, its state and its logs go.
   * @param {object} given.model
   * @param {object} [given.telegram]
   * @param {object} [given.plugin] the plugin's configuration; without it the plugin is not loaded.
   * @param {(workspace: string) => object[]} [given.agents] a list of agents for openclaw.json.
   */
  constructor({ dir, model, telegram, plugin, agents }) {
    Object.assign(this, { dir, model, telegram, plugin, agents });
    this.workspace = join(dir, "workspace");
    this.configFile = join(dir, "openclaw.json");
    this.timings = join(dir, "timings.jsonl");
    this.prompts = join(dir, "prompts.jsonl");
    this.log = "";
  }

  get env() {
    const { dir } = this;
    return {
      PATH: process.env.PATH,
      HOME: join(dir, "home"),
      TMPDIR: join(dir, "tmp"),
      OPENCLAW_HOME: join(dir, "home"),
      OPENCLAW_STATE_DIR: join(dir, "state"),
      OPENCLAW_CONFIG_PATH: this.configFile,
      OPENCLAW_OFFLINE: "1",
      OPENCLAW_NO_AUTO_UPDATE: "1",
      OPENCLAW_DISABLE_BONJOUR: "1",
      OPENCLAW_EXEC_SHELL_SNAPSHOT: "0",
      NO_COLOR: "1",
      E2E_TIMINGS: this.timings,
      E2E_PROMPTS: this.prompts,
    };
  }

  /** Creates the folders and the configuration file. */
  async prepare() {
    this.port ??= await freePort();
    for (const name of ["home", "state", "tmp", "workspace"]) await mkdir(join(this.dir, name), { recursive: true });
    await this.configure(this.#config());
    return this;
  }

  #config() {
    const { telegram, plugin, agents } = this;
    const models = [{ id: "scripted", name: "Scripted", input: ["text"], reasoning: false, contextWindow: 128_000, maxTokens: 4096, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }];
    const provider = (api, baseUrl) => ({ baseUrl, apiKey: "none", api, models });
    return {
      update: { checkOnStart: false },
      telemetry: { enabled: false },
      gateway: { mode: "local", bind: "loopback", port: this.port, auth: { mode: "token", token: this.#token }, controlUi: { enabled: false } },
      agents: { defaults: { workspace: this.workspace, skipBootstrap: true, model: { primary: "scripted/scripted" } }, ...(agents && { list: agents(this.workspace) }) },
      models: {
        mode: "replace",
        providers: {
          scripted: provider("openai-completions", this.model.url),
          anthropic: provider("anthropic-messages", new URL(this.model.url).origin),
        },
      },
      plugins: {
        ...(plugin && { load: { paths: [this.pluginDir, stopwatchDir] } }),
        entries: {
          ...(plugin && {
            [pluginId]: { enabled: true, hooks: { allowConversationAccess: true }, config: plugin },
            stopwatch: { enabled: true, hooks: { allowConversationAccess: true } },
          }),
          ...(telegram && { telegram: { enabled: true } }),
        },
      },
      ...(telegram && {
        channels: {
          telegram: {
            enabled: true,
            botToken: telegram.token,
            apiRoot: telegram.url,
            dmPolicy: "open",
            allowFrom: ["*"],
            groupPolicy: "open",
            groups: { "*": { requireMention: false } },
            network: { dangerouslyAllowPrivateNetwork: true },
            streaming: { mode: "off" },
          },
        },
      }),
    };
  }

  /** Replaces the configuration file atomically, as an editor does. */
  async configure(config) {
    await writeFile(`${this.configFile}.new`, JSON.stringify(config, null, 2));
    await rename(`${this.configFile}.new`, this.configFile);
  }

  /** Changes the configuration file. */
  async reconfigure(change) {
    const config = JSON.parse(await readFile(this.configFile, "utf8"));
    change(config);
    await this.configure(config);
  }

  /** Uses another directory of the plugin from the next start on. */
  async use(dir) {
    await this.reconfigure(({ plugins }) => {
      plugins.load.paths = plugins.load.paths.map((path) => (path === this.pluginDir ? dir : path));
    });
    this.pluginDir = dir;
  }

  async start() {
    if (!this.port) await this.prepare();
    this.process = new Process(process.execPath, [openclaw, "gateway", "--port", String(this.port), "--bind", "loopback"], { env: this.env, cwd: this.dir });
    await this.logged("[gateway] ready", 300_000); // it takes 12 s on a quiet machine
    await this.#connect();
    return this;
  }

  /** Waits until the gateway's log contains the text. */
  async logged(text, ms) {
    await until(`the gateway logs ${text}`, () => {
      if (!this.process.alive) throw new Error(`the gateway has ended:\n${this.process.output}`);
      return this.process.output.includes(text);
    }, ms);
  }

  async stop() {
    this.socket?.close();
    await this.process?.stop();
  }

  // The gateway's control protocol, version 4: requests and answers as JSON
  // frames on a web socket. A client of this name may connect over loopback with
  // the token alone, without pairing a device first.
  async #connect() {
    this.socket = new WebSocket(`ws://127.0.0.1:${this.port}`);
    this.socket.addEventListener("message", ({ data }) => this.#received(JSON.parse(data)));
    this.socket.addEventListener("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the gateway has closed the connection"));
      this.#waiting.clear();
    });
    await new Promise((resolve, reject) => {
      this.socket.addEventListener("open", resolve, { once: true });
      this.socket.addEventListener("error", reject, { once: true });
    });
    await this.call("connect", {
      minProtocol: 4,
      maxProtocol: 4,
      client: { id: "gateway-client", version: "1", platform: process.platform, mode: "backend" },
      role: "operator",
      scopes: ["operator.admin", "operator.read", "operator.write"],
      auth: { token: this.#token },
    });
  }

  #received(frame) {
    const waiting = frame.type === "res" && this.#waiting.get(frame.id);
    if (!waiting) return;
    this.#waiting.delete(frame.id);
    if (frame.ok) waiting.resolve(frame.payload);
    else waiting.reject(new Error(`${waiting.method}: ${frame.error?.message ?? JSON.stringify(frame.error)}`));
  }

  /** Calls a method of the gateway and returns its payload. */
  call(method, params = {}) {
    return new Promise((resolve, reject) => {
      const id = randomUUID();
      this.#waiting.set(id, { method, resolve, reject });
      this.socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  /** Sends a message in the web chat and returns the run id, without waiting for the turn. */
  async chat(sessionKey, message) {
    const runId = randomUUID();
    await this.call("chat.send", { sessionKey, message, idempotencyKey: runId });
    return runId;
  }

  /** Waits for the end of a run. */
  async ended(runId, ms = 60_000) {
    const { status } = await this.call("agent.wait", { runId, timeoutMs: ms });
    if (status === "timeout") throw new Error(`run ${runId} has not ended within ${ms} ms`);
    return status;
  }

  /** Runs a command of OpenClaw to its end. */
  async run(...args) {
    const started = performance.now();
    const command = new Process(process.execPath, [openclaw, ...args], { env: this.env, cwd: this.dir });
    const code = await command.ended;
    return { code, output: command.output, stdout: command.stdout, ms: performance.now() - started };
  }
}
