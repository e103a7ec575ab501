// What hints cost the provider's prompt cache, and what they would cost if they were
// said in other ways: `./run prompt-cache`. Two conversations are had with and without
// the plugin; the other ways are made of their requests.

import { apis, conversations, converse } from "./conversation.mjs";
import { compare } from "./promptcache.mjs";

const block = /<intention_hint_plugin>[^]*?<\/intention_hint_plugin>\n\n/;
const parts = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []));

/** The messages of people in a request, oldest first: {at, text}. */
function said({ messages }) {
  return messages.flatMap(({ role, content }, at) => {
    const text = role === "user" ? parts(content)[0]?.text : undefined;
    return text === undefined || text.startsWith("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>") ? [] : [{ at, text }];
  });
}

/** A request with other texts at some places. */
function rewritten(request, texts) {
  const messages = request.messages.map((message, at) => {
    if (!texts.has(at)) return message;
    const [first, ...rest] = parts(message.content);
    return { ...message, content: [{ ...first, text: texts.get(at) }, ...rest] };
  });
  return { ...request, messages };
}

/** Rewrites the messages of people. change gets a text, its place, and whether it is the newest. */
function each(request, change) {
  const all = said(request);
  return rewritten(request, new Map(all.map(({ at, text }, i) => [at, change(text, i, i === all.length - 1)])));
}

const without = (text) => text.replace(block, "");
const brief = (text) => text.replace(block, (hint) => `${hint.slice(0, hint.indexOf("\n\n"))}\n</intention_hint_plugin>\n\n`);

/** As the gateway does it alone: what was in front of a message is not in front of it later. */
const forgotten = (request) => each(request, (text, i, newest) => (newest ? text : without(text)));

/** The newest message's hint behind everything, and in no later request. */
function atTheEnd(request) {
  const hint = block.exec(said(request).at(-1).text)?.[0];
  const bare = each(request, without);
  return hint ? { ...bare, messages: [...bare.messages, { role: "user", content: hint.trim() }] } : bare;
}

/** With a hint in front of each message: where none was given, the one before. */
function always(request) {
  let last = "";
  return each(request, (text) => {
    const [hint] = block.exec(text) ?? [];
    last = hint ?? last;
    return hint ? text : text.replace(/^(\[[^\]]*\] )?/, `$1${last.replaceAll("$", "$$$$")}`);
  });
}

const ways = {
  "a hint on every turn, in front of the message": (request) => forgotten(always(request)),
  "only what is new": forgotten,
  "only what is new, brief": (request) => each(forgotten(request), brief),
  "only what is new, behind everything": atTheEnd,
  "only what is new, brief, behind everything": (request) => atTheEnd(each(request, brief)),
  "a hint on every turn, kept": always,
  "only what is new, brief, kept": (request) => each(request, brief),
  "only what is new, kept (measured)": (request) => request,
};

const recorded = await converse({ HINT_REPEAT: "changed", HINT_MIN_CONFIDENCE: "0.5" });
const percent = (share) => `${(share * 100).toFixed(1)} %`;
for (const [name, api] of Object.keys(conversations).flatMap((name) => apis.map((api) => [name, api]))) {
  const [given, plain] = [recorded.given[name][api], recorded.without[name][api]];
  const bytes = JSON.stringify(plain.at(-1).requests.at(-1).messages).length;
  console.log(`\n${name}, ${api}: ${plain.flatMap(({ requests }) => requests).length} requests, the last with messages of ${bytes} bytes\n`);
  console.log("| | unchanged intent, worst | all | cache writes | input added |\n|---|---|---|---|---|");
  for (const [name, way] of Object.entries(ways)) {
    const sums = compare(given.map((turn) => ({ ...turn, requests: turn.requests.map(way) })), plain);
    console.log(`| ${name} | ${percent(sums.unchanged)} | ${percent(sums.overall)} | ${sums.read > 0 ? percent(sums.writes) : ""} | ${percent(sums.added)} |`);
  }
  console.log(`\n${given.map(({ intent }) => intent).join(", ")}`);
}
