// The plugin and a NATS server with TLS and users.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";

import { connect } from "@nats-io/transport-node";

import { build, eventually } from "./consumer.js";
import { CTX, forget, gateway } from "./gateway.js";
import { certificates, decorated, launch, openssl, operatorMode, startNats, startSite } from "./site.js";

/** @type {ReturnType<typeof build>} */
let built;
before(() => {
  built = build("github.com/nats-io/nats-server/v2");
});
after(() => built?.remove());
afterEach(forget);

/** @param {string} name @param {string} text */
function file(name, text) {
  const path = join(built.directory, name);
  writeFileSync(path, text);
  return path;
}

/** A file issued by another authority. @param {string} name */
const strangers = (name) => join(built.directory, "strangers", name);

/** A turn with a hint, and its events are stored. @param {object} options @param {string} id */
async function hinted(options, id) {
  const g = gateway(options);
  const ctx = { ...CTX, sessionId: id, runId: id };
  await g.fire("gateway_start", { port: 1 }, {});
  const result = /** @type {any} */ (await g.fire("before_prompt_build", { prompt: "can you review my pull request before I merge it?", messages: [] }, ctx));
  assert.match(result?.prependContext ?? g.log.join("\n"), /^intent: CODE_REVIEW/m);
  await g.fire("after_tool_call", { toolName: "read", runId: id, toolCallId: "c1", result: "ok" }, ctx);
  await g.fire("agent_end", { runId: id, messages: [{ role: "assistant", content: "Done." }] }, ctx);
  await eventually("the events are stored", () => g.shared().bridge.status().stored === 2, 60_000);
  await forget();
}

/** A turn continues at once, and the gateway's log has the reason. @param {object} options @param {RegExp} says */
async function refused(options, says) {
  const g = gateway(options);
  await g.fire("gateway_start", { port: 1 }, {});
  const began = performance.now();
  assert.equal(await g.fire("before_prompt_build", { prompt: "hello", messages: [] }), undefined);
  const ms = performance.now() - began;
  assert.ok(ms < 1500, `${ms} ms`);
  const said = g.log.filter((line) => line.includes("no connection to NATS"));
  assert.match(said.join("\n"), says);
  for (const line of said) assert.doesNotMatch(line, /\n/);
  assert.match(g.hint(), /NATS: not connected/);
  await forget();
}

describe("encrypted, with least rights", { skip: !openssl && "no openssl on this machine" }, () => {
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site;
  /** @type {Awaited<ReturnType<typeof launch>>} */
  let consumer;
  before(async () => {
    site = await startSite(built.directory, join(built.directory, "site"));
    const settings = { ...site.settings("consumer"), HINT_HTTP_ADDR: "off", HINT_LOG_FORMAT: "json", HINT_REPEAT: "always" };
    consumer = await launch(built.binary, [], settings, '"ready"');
    certificates(join(built.directory, "strangers"));
  });
  after(async () => {
    await consumer?.stop();
    await site?.stop();
  });

  test("a turn, and its session is in the bucket", async () => {
    await hinted(site.options, "secured");
    await eventually("the session", () => site.operate("sessions", "ls").includes("secured"), 60_000);
    await eventually("its end", () => JSON.parse(site.operate("sessions", "show", "secured")).current.result === "Done.", 60_000);
    assert.doesNotMatch(site.nats.log, /\[ERR\]/, "the gateway's connections cause no error in the server's log");
  });

  test("a certificate asks for TLS by itself", () => hinted({ ...site.options, natsUrl: site.options.natsUrl.replace("tls://", "nats://") }, "nats-address"));

  test("a key instead of a password", async () => {
    const natsUrl = `tls://127.0.0.1:${site.nats.port}`;
    await hinted({ ...site.options, natsUrl, natsNkey: file("bare.nk", site.seed) }, "nkey");
    const windows = `# the gateway's\n${decorated("USER NKEY SEED", site.seed)}`.replaceAll("\n", "\r\n");
    await hinted({ ...site.options, natsUrl, natsNkey: file("decorated.nk", windows) }, "nkey-decorated");
  });

  test("a server that begins with TLS", async () => {
    const dir = join(built.directory, "first");
    const of = (/** @type {string} */ name) => join(built.directory, "site", "pki", name);
    const tls = `tls { cert_file: "${of("127.0.0.1.pem")}", key_file: "${of("127.0.0.1.key")}", ca_file: "${of("ca.pem")}", verify: true, handshake_first: true }`;
    const nats = await startNats(built.directory, dir, tls);
    try {
      const natsUrl = `nats://127.0.0.1:${nats.port}`;
      const settings = { HINT_NATS_URL: natsUrl, HINT_NATS_CA: of("ca.pem"), HINT_NATS_CERT: of("consumer.pem"), HINT_NATS_KEY: of("consumer.key"), HINT_NATS_TLS_FIRST: "true" };
      const there = await launch(built.binary, [], { ...settings, HINT_DATA_DIR: join(dir, "data"), HINT_HTTP_ADDR: "off", HINT_LOG_FORMAT: "json", HINT_REPEAT: "always" }, '"ready"');
      try {
        const options = { natsUrl, natsCa: of("ca.pem"), natsCert: of("gateway.pem"), natsKey: of("gateway.key") };
        await hinted({ ...options, natsTlsFirst: true }, "tls-first");
      } finally {
        await there.stop();
      }
      assert.doesNotMatch(nats.log, /\[ERR\](?!.*TLS handshake)/);
    } finally {
      await nats.stop();
    }
  });

  test("a denied event is refused, and the rest continues", async () => {
    const g = gateway({ ...site.options, subjectPrefix: "elsewhere" });
    await g.fire("gateway_start", { port: 1 }, {});
    assert.equal(await g.fire("before_prompt_build", { prompt: "hello", messages: [] }), undefined);
    await eventually("gateway_start is refused", () => g.shared().bridge.status().refused === 1, 60_000);
    assert.match(g.log.join("\n"), /events are not stored: .*Permissions Violation.*elsewhere/i);
  });

  for (const [name, change, says] of /** @type {Array<[string, () => object, RegExp]>} */ ([
    ["a server of another authority", () => ({ natsCa: strangers("ca.pem") }), /certificate is not trusted .*: natsCa must be the authority/],
    ["a server that no authority of the machine knows", () => ({ natsCa: "" }), /certificate is not trusted .*: natsCa must be the authority/],
    ["a server's certificate for another host", () => ({ natsUrl: site.options.natsUrl.replace("127.0.0.1", "localhost") }), /does not match certificate's altnames: Host: localhost/],
    ["no certificate", () => ({ natsCert: "", natsKey: "" }), /TLS handshake .*natsCert and natsKey must be a client certificate/],
    ["a certificate of another authority", () => ({ natsCert: strangers("gateway.pem"), natsKey: strangers("gateway.key") }), /TLS handshake .*natsCert and natsKey must be a client certificate/],
    ["a certificate without its key", () => ({ natsKey: "" }), /natsCert and natsKey: one of the two is missing/],
    ["another certificate's key", () => ({ natsKey: strangers("gateway.key") }), /natsCert and natsKey: .*mismatch/],
    ["an authority that is not one", () => ({ natsCa: site.options.natsKey }), /natsCa: .*gateway\.key: /],
    ["a missing file", () => ({ natsCa: "/nowhere/ca.pem" }), /natsCa: .*no such file.*\/nowhere\/ca\.pem/],
    ["a wrong password", () => ({ natsUrl: site.options.natsUrl.replace("gateway:", "gateway:not-") }), /Authorization Violation: check the user and password in natsUrl/],
    ["no user", () => ({ natsUrl: `tls://127.0.0.1:${site.nats.port}` }), /Authorization Violation: check/],
    ["a seed that is not one", () => ({ natsNkey: file("none.nk", "none") }), /natsNkey: .*none\.nk: /],
    ["credentials that are not any", () => ({ natsCreds: file("none.creds", "none") }), /natsCreds: .*none\.creds: /],
    ["no handshake at first", () => ({ natsTlsFirst: true }), /does not begin with TLS .*natsTlsFirst/],
    ["a password that is not URL-encoded", () => ({ natsUrl: "tls://gateway:50%@127.0.0.1" }), /natsUrl: /],
    ["a web socket", () => ({ natsUrl: "wss://127.0.0.1" }), /natsUrl: only nats:\/\/ and tls:\/\/ addresses/],
  ])) {
    test(`refused: ${name}`, () => refused({ ...site.options, ...change() }, says));
  }
});

test("credentials of an operator's user", async () => {
  const mode = operatorMode({ pub: { allow: ["openclaw.request.>", "openclaw.event.>"] }, sub: { allow: ["_INBOX_gateway.>"] } });
  const nats = await startNats(built.directory, join(built.directory, "operator"), mode.conf);
  try {
    const natsUrl = `nats://127.0.0.1:${nats.port}`;
    const settings = { HINT_NATS_URL: natsUrl, HINT_NATS_CREDS: file("consumer.creds", mode.consumer), HINT_DATA_DIR: join(built.directory, "operator-data") };
    const consumer = await launch(built.binary, [], { ...settings, HINT_HTTP_ADDR: "off", HINT_LOG_FORMAT: "json", HINT_REPEAT: "always" }, '"ready"');
    try {
      const options = { natsUrl, natsInboxPrefix: "_INBOX_gateway" };
      await hinted({ ...options, natsCreds: file("gateway.creds", mode.gateway) }, "creds");
      await hinted({ ...options, natsCreds: file("windows.creds", mode.gateway.trimEnd().replaceAll("\n", "\r\n")) }, "creds-crlf");
      await refused({ ...options, natsCreds: file("stranger.creds", operatorMode({}).gateway) }, /Authorization Violation: check .*natsCreds/);
    } finally {
      await consumer.stop();
    }
  } finally {
    await forget();
    await nats.stop();
  }
});

test("a token, and a server that offers no TLS", async () => {
  const nats = await startNats(built.directory, join(built.directory, "token"), 'authorization { token: "s3cr:t/@x" }');
  try {
    const other = await connect({ servers: `127.0.0.1:${nats.port}`, token: "s3cr:t/@x" });
    other.subscribe("openclaw.request.>", { callback: (_error, msg) => void msg.respond('{"prependContext": "x"}') });
    await other.flush();
    const at = `${encodeURIComponent("s3cr:t/@x")}@127.0.0.1:${nats.port}`;
    const g = gateway({ natsUrl: `nats://${at}` });
    assert.deepEqual(await g.fire("before_prompt_build", { prompt: "hello", messages: [] }), { prependContext: "x" });
    await forget();
    await refused({ natsUrl: `nats://guess@127.0.0.1:${nats.port}` }, /Authorization Violation: check/);
    await refused({ natsUrl: `tls://${at}` }, /server does not support 'tls'/);
    await other.close();
  } finally {
    await forget();
    await nats.stop();
  }
});
