// Where the plugin connects, and as whom, by contexts of the nats command line.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";

import { connect } from "@nats-io/transport-node";

import { readOptions } from "../src/config.js";
import { place } from "../src/server.js";
import { build, eventually, freePort } from "./consumer.js";
import { CTX, forget, gateway } from "./gateway.js";
import { launch, startNats } from "./site.js";

const home = mkdtempSync(join(tmpdir(), "intenthint-contexts-"));
process.env.XDG_CONFIG_HOME = home;
mkdirSync(join(home, "nats", "context"), { recursive: true });
after(() => rmSync(home, { recursive: true, force: true }));
afterEach(async () => {
  await forget();
  rmSync(join(home, "nats", "context", "intenthint.json"), { force: true });
});

/** Writes a context. @param {object | string} content @param {string} [name] @returns {string} its file */
function context(content, name = "intenthint") {
  const file = join(home, "nats", "context", `${name}.json`);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

/** @param {number} port @param {string} [password] */
const consumers = (port, password = "secret") => ({ description: "a consumer's", url: `nats://127.0.0.1:${port}`, user: "gateway", password });

/** What is read of the options and the context. @param {object} options */
function found(options) {
  const { natsUrl, user, password, token, natsCreds, natsNkey, natsCa, natsInboxPrefix, context: file } = place(readOptions(options));
  return { natsUrl, user, password, token, natsCreds, natsNkey, natsCa, natsInboxPrefix, named: file !== "" };
}

/** @param {ReturnType<typeof gateway>} g */
const asked = (g) => g.fire("before_prompt_build", { prompt: "hello", messages: [] });

/** A turn of a gateway with the options. @param {object} options @param {string} id */
async function turn(options, id) {
  const g = gateway(options);
  const ctx = { ...CTX, sessionId: id, runId: id };
  await g.fire("gateway_start", { port: 1 }, {});
  const result = /** @type {any} */ (await g.fire("before_prompt_build", { prompt: "can you review my pull request before I merge it?", messages: [] }, ctx));
  await g.fire("agent_end", { runId: id, messages: [{ role: "assistant", content: "Done." }] }, ctx);
  return { g, hint: result?.prependContext };
}

describe("place", () => {
  const nobody = { natsUrl: ["nats://127.0.0.1:4222"], user: "", password: "", token: "", natsCreds: "", natsNkey: "", natsCa: "", natsInboxPrefix: "", named: false };
  const gatewayUser = { ...nobody, user: "gateway", password: "secret", named: true };

  for (const [name, options, content, want] of /** @type {Array<[string, object, object | undefined, object]>} */ ([
    ["no context", {}, undefined, nobody],
    ["the consumer's", {}, consumers(4222), gatewayUser],
    ["the consumer's, with a slash", {}, { ...consumers(4222), url: "nats://127.0.0.1:4222/" }, { ...gatewayUser, natsUrl: ["nats://127.0.0.1:4222/"] }],
    ["the consumer's, where nobody is asked", {}, { url: "nats://127.0.0.1:4222" }, nobody],
    ["of another port", { natsPort: 4333 }, consumers(4222), { ...nobody, natsUrl: ["nats://127.0.0.1:4333"] }],
    ["of the port that is set", { natsPort: 4333 }, consumers(4333), { ...gatewayUser, natsUrl: ["nats://127.0.0.1:4333"] }],
    ["a port that ends alike", { natsPort: 422 }, consumers(4222), { ...nobody, natsUrl: ["nats://127.0.0.1:422"] }],
    ["natsUrl alone", { natsUrl: "nats://elsewhere:4222" }, consumers(4222), { ...nobody, natsUrl: ["nats://elsewhere:4222"] }],
    ["natsUrl and natsContext", { natsUrl: "nats://elsewhere:4222", natsContext: "intenthint" }, consumers(4222), { ...gatewayUser, natsUrl: ["nats://elsewhere:4222"] }],
    ["a user in natsUrl", { natsUrl: "nats://me:pw@elsewhere", natsContext: "intenthint" }, consumers(4222), { ...nobody, natsUrl: ["nats://me:pw@elsewhere"] }],
    ["natsCreds", { natsContext: "intenthint", natsCreds: "/my.creds" }, consumers(4222), { ...nobody, natsCreds: "/my.creds" }],
    ["several servers", { natsContext: "intenthint" }, { ...consumers(1), url: "nats://a:1, nats://b:2" }, { ...gatewayUser, natsUrl: ["nats://a:1", "nats://b:2"] }],
    ["files and inbox prefix", { natsContext: "intenthint", natsCa: "/mine.pem" }, { creds: "~/x.creds", nkey: "/x.nk", ca: "/x.pem", inbox_prefix: "_MINE" }, { ...nobody, natsCreds: join(homedir(), "x.creds"), natsNkey: "/x.nk", natsCa: "/mine.pem", natsInboxPrefix: "_MINE" }],
    ["a token", { natsContext: "intenthint" }, { token: "t" }, { ...nobody, token: "t", named: true }],
    ["values of other types", {}, { ...consumers(4222), user: 7, password: null }, nobody],
    ["not an object", {}, [], nobody],
  ])) {
    test(name, () => {
      if (content) context(content);
      assert.deepEqual(found(options), want);
    });
  }

  test("by name, and as a file", () => {
    const file = context(consumers(4333), "other");
    assert.equal(place(readOptions({ natsContext: "other" })).password, "secret");
    assert.equal(place(readOptions({ natsContext: file })).password, "secret");
    assert.equal(place(readOptions({ natsContext: "./other.json" }, (path) => join(home, "nats", "context", path))).password, "secret");
  });

  test("a damaged context is named, and what it holds is not", () => {
    context('{"user": "gateway", "password": "secret');
    assert.throws(() => place(readOptions({})), (/** @type {any} */ error) => /natsContext: .*intenthint\.json: it is not JSON/.test(error.message) && !error.message.includes("secret"));
    assert.throws(() => place(readOptions({ natsContext: "unknown" })), /natsContext: .*unknown\.json: ENOENT/);
  });
});

describe("with a server", () => {
  /** @type {ReturnType<typeof build>} */
  let built;
  before(() => {
    built = build("github.com/nats-io/nats-server/v2");
  });
  after(() => built?.remove());

  /** A server that takes the gateway by its password. @param {string} password @param {number} [port] */
  const secured = (password, port) => startNats(built.directory, join(built.directory, "secured"), `authorization { users: [{ user: gateway, password: "${password}" }] }`, {}, port);

  test("a context that comes later, and one that changes", async () => {
    let nats = await secured("first");
    const g = gateway({ natsPort: nats.port });
    await g.fire("gateway_start", { port: 1 }, {});
    assert.equal(await asked(g), undefined);
    assert.match(g.log.join("\n"), /no connection to NATS \(.*Authorization Violation.*natsContext\)/);
    context(consumers(nats.port, "first"));
    await eventually("it connects once the context is there", () => g.log.some((line) => line.includes("connected to NATS")), 60_000);

    const { port } = nats;
    await nats.stop();
    nats = await secured("second", port);
    context(consumers(port, "second"));
    await eventually("it connects with the new password", () => g.log.filter((line) => line.includes("connected to NATS")).length === 2, 60_000);
    const service = await connect({ servers: `127.0.0.1:${port}`, user: "gateway", pass: "second" });
    service.subscribe("openclaw.request.>", { callback: (_error, msg) => void msg.respond('{"prependContext": "x"}') });
    await service.flush();
    assert.deepEqual(await asked(g), { prependContext: "x" });
    await service.close();
    await forget();
    await nats.stop();
  });

  test("a consumer with its defaults makes the gateway's user", async () => {
    const [port, data] = [await freePort(), join(built.directory, "data")];
    const settings = { HINT_NATS_PORT: String(port), HINT_DATA_DIR: data, HINT_HTTP_ADDR: "off", HINT_LOG_FORMAT: "json", HINT_EMBEDDING_MODEL: "off" };
    const consumer = await launch(built.binary, [], settings, '"ready"');
    const file = join(data, "nats", "gateway.json");
    try {
      const refused = await turn({ natsPort: port }, "nobody");
      assert.equal(refused.hint, undefined);
      assert.match(refused.g.log.join("\n"), /Authorization Violation/);
      await forget();
      for (const [id, options, shared] of /** @type {Array<[string, object, boolean]>} */ ([["file", { natsContext: file }, false], ["shared", { natsPort: port }, true]])) {
        if (shared) context(readFileSync(file, "utf8"));
        const { g, hint } = await turn(options, id);
        assert.match(hint ?? g.log.join("\n"), /^intent: CODE_REVIEW/m);
        await eventually("its event is stored", () => g.shared().bridge.status().stored >= 1, 60_000);
        assert.equal(g.shared().bridge.status().refused, 0);
        await forget();
      }
    } finally {
      await forget();
      await consumer.stop();
    }
  });

  test("a program that asks for no user gets no password", async () => {
    let received = "";
    const squatter = createServer((socket) => {
      socket.on("data", (chunk) => (received += chunk));
      socket.on("error", () => {});
      socket.write('INFO {"server_id":"X","version":"2.15.2","proto":1,"headers":true,"max_payload":1048576}\r\n');
    }).listen(await freePort(), "127.0.0.1");
    await once(squatter, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (squatter.address());
    context(consumers(port));
    const g = gateway({ natsPort: port });
    await g.fire("gateway_start", { port: 1 }, {});
    assert.equal(await asked(g), undefined);
    await eventually("the log says why", () => /asks for no user, so it is not that of .*intenthint\.json/.test(g.log.join("\n")), 60_000);
    assert.equal(received, "");
    await forget();
    squatter.close();
  });
});
