// What consecutive requests to a model have in common, and what a provider's prompt
// cache makes of them. Pure functions. All sizes are in bytes of JSON.

import { createHash } from "node:crypto";

const size = (text) => Buffer.byteLength(text);

/** A value as JSON without the marks that say what to cache: they are no part of the prompt. */
const serialised = (value) => JSON.stringify(value, (name, inner) => (name === "cache_control" ? undefined : inner));

/** A text alone and a list of one text are the same to a model. */
const partsOf = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []));

/**
 * The conversation of a request, serialised: its messages without the system prompt,
 * which would hide what happens to the rest.
 * @param {{messages: {role: string}[]}} request
 */
export function conversation({ messages }) {
  const said = messages.filter(({ role }) => role !== "system" && role !== "developer");
  return said.map((message) => serialised({ ...message, content: partsOf(message.content) })).join(",");
}

/** The size of a request's input: tools, system prompt and messages. */
export function inputSize({ tools, system, messages }) {
  return size(serialised({ tools, system, messages }));
}

/** The length of the common prefix of two texts, in bytes. */
export function commonPrefix(a, b) {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  let i = 0;
  while (i < x.length && i < y.length && x[i] === y[i]) i++;
  return i;
}

/**
 * The common prefix of each request with the one before, in bytes, and the size of
 * the request. The first has none.
 * @param {object[]} requests of one conversation, oldest first
 */
export function prefixes(requests) {
  const texts = requests.map(conversation);
  return texts.map((text, i) => ({ prefix: i === 0 ? 0 : commonPrefix(texts[i - 1], text), size: size(text) }));
}

/**
 * The blocks of a request to Anthropic's messages API in the order in which they are
 * cached: tools, system, messages.
 * @returns {{text: string, marked: boolean}[]} marked are the blocks with a cache_control
 */
export function blocksOf({ tools = [], system = [], messages }) {
  const block = (where, part) => ({ text: `${where}${serialised(part)}`, marked: part.cache_control !== undefined });
  return [
    ...tools.map((tool) => block("tool", tool)),
    ...partsOf(system).map((part) => block("system", part)),
    // A block that begins a message is another one than the same block within one.
    ...messages.flatMap(({ role, content }) => partsOf(content).map((part, i) => block(i === 0 ? `${role}:` : role, part))),
  ];
}

/** The blocks in front of a mark at which an entry is looked for, the mark's own included. */
const LOOKBACK = 20;

/**
 * What a provider with Anthropic's rules reads from its cache and writes to it: an
 * entry is a whole prefix that ended at a mark. At each mark the longest entry of the
 * last {@link LOOKBACK} blocks is looked for. What the longest one found holds is
 * read; what follows up to the last mark is written; what follows that is paid in full.
 *
 * Entries do not expire here, and the shortest prefix that a provider caches (some
 * thousand tokens) is left out: both are the same with and without hints.
 *
 * @param {object[]} requests oldest first
 * @returns {{read: number, written: number, rest: number}[]} in bytes
 */
export function simulate(requests) {
  const entries = new Set();
  return requests.map((request) => {
    const blocks = blocksOf(request);
    const keys = [];
    const ends = [0]; // ends[i] is the size of the first i blocks
    let key = "";
    for (const { text } of blocks) {
      key = digest(`${key}\n${text}`);
      keys.push(key);
      ends.push(ends.at(-1) + size(text));
    }
    const marks = blocks.flatMap(({ marked }, i) => (marked ? [i] : []));
    let found = 0; // blocks
    for (const mark of marks) {
      for (let i = mark; i >= 0 && i > mark - LOOKBACK; i--) {
        if (!entries.has(keys[i])) continue;
        found = Math.max(found, i + 1);
        break;
      }
    }
    for (const mark of marks) entries.add(keys[mark]);
    const last = marks.length === 0 ? 0 : marks.at(-1) + 1;
    return { read: ends[found], written: ends[last] - ends[found], rest: ends.at(-1) - ends[last] };
  });
}

function digest(text) {
  return createHash("sha256").update(text).digest("base64");
}

/**
 * Compares a conversation with hints to the same one without the plugin.
 * @param {{requests: object[], intent: string}[]} given its turns with hints
 * @param {{requests: object[]}[]} without
 */
export function compare(given, without) {
  const [a, b] = [given, without].map((turns) => prefixes(turns.flatMap(({ requests }) => requests)));
  const turnOf = without.flatMap(({ requests }, turn) => requests.map(() => turn));
  const pairs = turnOf.map((turn, i) => ({ turn, given: a[i].prefix, without: b[i].prefix })).slice(1);
  const unchanged = pairs.filter(({ turn }) => turn > 0 && given[turn].intent === given[turn - 1].intent);
  const sum = (list, of) => list.reduce((total, each) => total + of(each), 0);
  // What a hint adds to a prefix must not make up for what another takes away.
  const kept = (list) => sum(list, (pair) => Math.min(pair.given, pair.without)) / sum(list, (pair) => pair.without);
  const cached = [given, without].map((turns) => simulate(turns.flatMap(({ requests }) => requests)));
  const [input, inputWithout] = [given, without].map((turns) => sum(turns.flatMap(({ requests }) => requests), inputSize));
  const [written, writtenWithout] = cached.map((sums) => sum(sums, (each) => each.written));
  return {
    unchangedTurns: new Set(unchanged.map(({ turn }) => turn)).size,
    unchanged: Math.min(...unchanged.map((pair) => pair.given / pair.without)),
    overall: kept(pairs),
    added: input / inputWithout - 1,
    read: sum(cached[0], ({ read }) => read),
    written,
    writes: written / writtenWithout,
  };
}
