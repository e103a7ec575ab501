// The skills that an agent may read, as the gateway tells its model of them.

import { cut } from "./encode.js";
import { attempt, field, record, text } from "./values.js";

/**
 * @typedef {object} Skill
 * @property {string} name
 * @property {string} path of its SKILL.md, as the agent is told to read it
 * @property {string} [description]
 */

/** Limits of the list: skills, UTF-16 units of a description, and of a name or path. */
const MAX_SKILLS = 200;
const MAX_DESCRIPTION = 300;
const MAX_NAME = 1024;

/** The reply header with the names of skills that intents name (contract §7). */
const NAMES = "Hint-Skills";

/**
 * The skills in requests for a hint. A hint names few skills and most catalogues none, so a request has
 * those only that an intent may name, and says by which names they were picked. A consumer with other
 * names answers with those names and nothing else, and is then asked with all skills.
 */
export class Skills {
  /** What the last reply named, in lower case; undefined where it named nothing. @type {string[] | undefined} */
  #names;

  /** @param {(ctx: unknown) => Skill[]} list the skills of a turn's agent */
  constructor(list) {
    this.list = list;
  }

  /**
   * Asks for a hint.
   *
   * @param {unknown} ctx of before_prompt_build
   * @param {(ctx: Record<string, unknown>) => Promise<import("./ask.js").Decision>} send called again at most once
   */
  async ask(ctx, send) {
    const all = record(ctx);
    // A gateway that lists skills itself is asked with its own list; without a run the second request would be another turn.
    if (all.availableSkills !== undefined || text(ctx, "runId") === undefined) return send(all);
    const names = this.#names;
    const decision = await send(names ? { ...all, ...listed(this.#among(names, ctx)), skillNames: names } : { ...all, ...listed(this.list(ctx)) });
    if (!decision.decided) return decision;
    const skipped = decision.headers?.has("Hint-Skip"); // a consumer without time names no skills
    const named = namesIn(decision.headers);
    if (named || !skipped) this.#names = named;
    if (!names || skipped || named?.every((name) => names.includes(name))) return decision;
    return send({ ...all, ...listed(this.list(ctx)) });
  }

  /**
   * @param {string[]} names
   * @param {unknown} ctx
   */
  #among(names, ctx) {
    return names.length === 0 ? [] : this.list(ctx).filter(({ name }) => names.includes(name.trim().toLowerCase()));
  }
}

/** @param {Skill[]} skills */
function listed(skills) {
  return skills.length === 0 ? {} : { availableSkills: skills };
}

/** @param {import("./ask.js").Decision["headers"]} headers */
function namesIn(headers) {
  return headers?.has(NAMES) ? headers.get(NAMES).split(",").map((name) => name.trim()).filter((name) => name !== "") : undefined;
}

/**
 * The skills of a session's agent, as the gateway has them. It reads the gateway's database.
 *
 * @param {import("./api.js").PluginApi} api
 * @param {unknown} ctx of before_prompt_build
 * @returns {Skill[]} none when the gateway names none
 */
export function sessionSkills(api, ctx) {
  const sessionKey = text(ctx, "sessionKey");
  if (sessionKey === undefined) return [];
  const agentId = text(ctx, "agentId");
  const entry = attempt(() => api.runtime?.agent?.session?.getSessionEntry?.(agentId === undefined ? { sessionKey } : { sessionKey, agentId }));
  return attempt(() => skillsOf(field(entry, "skillsSnapshot"))) ?? [];
}

/**
 * The skills of a session's snapshot: those in the part of the system prompt that lists them, else the
 * resolved ones.
 *
 * @param {unknown} snapshot
 * @returns {Skill[]}
 */
export function skillsOf(snapshot) {
  const listed = listedIn(text(snapshot, "prompt") ?? "");
  if (listed.length > 0) return listed;
  const resolved = field(snapshot, "resolvedSkills");
  if (!Array.isArray(resolved)) return [];
  return bounded(resolved.map((skill) => ({ name: text(skill, "name"), path: text(skill, "filePath"), description: text(skill, "description") })));
}

/**
 * Reads the <available_skills> block of a system prompt.
 *
 * @param {string} prompt
 */
function listedIn(prompt) {
  const start = prompt.indexOf("<available_skills>");
  const end = prompt.indexOf("</available_skills>", start);
  if (start < 0 || end < 0) return [];
  const skills = prompt.slice(start, end).split("<skill>").slice(1, MAX_SKILLS + 1);
  return bounded(skills.map((skill) => ({ name: element(skill, "name"), path: element(skill, "location"), description: element(skill, "description") })));
}

/**
 * @param {string} xml
 * @param {string} name
 * @returns {string | undefined} the text of an element, undefined when it is missing or blank
 */
function element(xml, name) {
  const from = xml.indexOf(`<${name}>`);
  const to = xml.indexOf(`</${name}>`, from);
  if (from < 0 || to < 0) return undefined;
  return unescape(xml.slice(from + name.length + 2, to)).trim() || undefined;
}

const ENTITIES = new Map([["lt", "<"], ["gt", ">"], ["quot", '"'], ["apos", "'"], ["amp", "&"]]);

/** @param {string} xml */
function unescape(xml) {
  return xml.replaceAll(/&(lt|gt|quot|apos|amp);/g, (all, name) => ENTITIES.get(name) ?? all);
}

/**
 * @param {Array<{name: string | undefined, path: string | undefined, description: string | undefined}>} skills
 * @returns {Skill[]}
 */
function bounded(skills) {
  const out = [];
  for (const { name, path, description } of skills.slice(0, MAX_SKILLS)) {
    if (name === undefined || path === undefined || name.length > MAX_NAME || path.length > MAX_NAME) continue;
    out.push(description === undefined ? { name, path } : { name, path, description: cut(description, MAX_DESCRIPTION) });
  }
  return out;
}
