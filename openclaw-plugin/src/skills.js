// The skills that an agent may read, as the gateway tells its model of them.

import { cut } from "./encode.js";
import { field, text } from "./values.js";

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

/**
 * The context of before_prompt_build with the skills that the session's agent has: the consumer names
 * them where an intent does (contract §7).
 *
 * @param {import("./api.js").PluginApi} api
 * @param {unknown} ctx
 * @returns {unknown} ctx itself when the gateway names no skills
 */
export function withSkills(api, ctx) {
  try {
    if (field(ctx, "availableSkills") !== undefined) return ctx;
    const sessionKey = text(ctx, "sessionKey");
    if (sessionKey === undefined) return ctx;
    const agentId = text(ctx, "agentId");
    const entry = api.runtime?.agent?.session?.getSessionEntry?.(agentId === undefined ? { sessionKey } : { sessionKey, agentId });
    const availableSkills = skillsOf(field(entry, "skillsSnapshot"));
    return availableSkills.length === 0 ? ctx : { .../** @type {object} */ (ctx), availableSkills };
  } catch {
    return ctx;
  }
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
