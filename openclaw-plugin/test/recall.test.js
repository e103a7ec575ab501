// Experiences for a prompt are asked for once it is settled which tools the turn has.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { connect } from "@nats-io/transport-node";

import { build, freePort, start } from "./consumer.js";
import { CTX, forget, gateway } from "./gateway.js";

/** @type {ReturnType<typeof build>} */
let built;
/** @type {Awaited<ReturnType<typeof start>>} */
let consumer;
/** @type {import("@nats-io/transport-node").NatsConnection} */
let nc;

before(async () => {
  built = build();
  consumer = await start(built, { port: await freePort(), name: "main" });
  nc = await connect({ servers: consumer.url.replace("nats://", "") });
});

after(async () => {
  await nc?.close();
  await consumer?.stop();
  built?.remove();
});

afterEach(forget);

const event = { prompt: "deploy the shop", messages: [{ role: "user", content: "hello" }] };
const settled = (/** @type {string[]} */ ...tools) => ({ fingerprint: "f1", allows: (/** @type {string} */ tool) => tools.includes(tool), assertActive() {} });

let prefixes = 0;

/** A gateway, and the requests of its own prefix, which are answered with their hook's name. @param {object} knowhub */
async function asked(knowhub) {
  const subjectPrefix = `recall${++prefixes}`;
  /** @type {any[]} */
  const requests = [];
  nc.subscribe(`${subjectPrefix}.request.>`, {
    callback: (_error, msg) => {
      const request = /** @type {any} */ (msg.json());
      requests.push(request);
      msg.respond(JSON.stringify({ prependContext: request.hook }));
    },
  });
  await nc.flush();
  return { g: gateway({ natsUrl: consumer.url, subjectPrefix, knowhub: { enabled: true, ...knowhub } }), requests };
}

for (const [name, ctx, want] of /** @type {[string, object, object | undefined][]} */ ([
  ["the turn may search", { toolAuthority: settled("read", "kb_search") }, { prependContext: "knowhub_recall" }],
  ["the turn may not search", { toolAuthority: settled("read") }, undefined],
  ["the gateway knows no such phase", {}, { prependContext: "knowhub_recall" }],
])) {
  test(`recall: ${name}`, async () => {
    const { g, requests } = await asked({ recall: 3 });
    assert.deepEqual(await g.fire("before_prompt_build", event), { prependContext: "before_prompt_build" });
    assert.equal(requests[0].ctx.recallLater, true);
    assert.deepEqual(await g.authorize(event, { ...CTX, ...ctx }), want);
    assert.equal(requests.length, want ? 2 : 1);
    if (!want) return;
    assert.deepEqual(requests[1].event, { prompt: "deploy the shop", messages: [] });
    assert.equal(requests[1].ctx.runId, CTX.runId);
    assert.equal("toolAuthority" in requests[1].ctx, false);
  });
}

test("recall: not for a turn that was not asked about, or got no answer", async () => {
  const { g, requests } = await asked({ recall: 3 });
  assert.equal(await g.authorize(event, { ...CTX, toolAuthority: settled("kb_search") }), undefined);
  assert.equal(await g.fire("before_prompt_build", event, { ...CTX, trigger: "cron" }), undefined);
  assert.equal(await g.authorize(event, { ...CTX, trigger: "cron", toolAuthority: settled("kb_search") }), undefined);
  assert.equal(requests.length, 0);
});

for (const [name, knowhub] of /** @type {[string, object][]} */ ([["no number", {}], ["none", { recall: 0 }], ["KnowHub off", { enabled: false, recall: 3 }]])) {
  test(`recall: with ${name} there is one request`, async () => {
    const { g, requests } = await asked(knowhub);
    assert.equal(g.authorized.size, 0);
    await g.fire("before_prompt_build", event);
    assert.equal(requests[0].ctx.recallLater, undefined);
  });
}
