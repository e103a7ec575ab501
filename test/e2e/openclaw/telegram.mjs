// A Telegram Bot API where the test plays all users.

import { createServer } from "node:http";
import { body, json, listen } from "./http.mjs";

const bot = { id: 4242, is_bot: true, first_name: "Bot", username: "a_test_bot", can_join_groups: true, can_read_all_group_messages: true };

export const direct = { id: 7001, type: "private", first_name: "Ada" };
export const group = { id: -1007001, type: "supergroup", title: "Gardeners" };
/** Another group. The gateway holds back more than 20 messages a minute to one. */
export const anotherGroup = (n = 1) => ({ ...group, id: group.id - n, title: `Gardeners ${n}` });
export const ada = { id: 7001, is_bot: false, first_name: "Ada", username: "ada" };
export const bob = { id: 7002, is_bot: false, first_name: "Bob", username: "bob" };

export class Telegram {
  token = `${bot.id}:A-TEST-TOKEN`;
  /** The bot's calls, without polls: {method, body}, oldest first. */
  calls = [];
  #updates = []; // not confirmed yet
  #ids = 1;
  #waiting = new Set(); // polls that wait for an update

  async start() {
    this.server = createServer((req, res) => this.#answer(req, res));
    this.port = await listen(this.server);
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Files that messages hold, by id. */
  files = new Map();

  /**
   * Sends a message in a chat, of Ada unless it is another's, and returns it. more are
   * further fields of the message, of a forwarded one or a photo, say.
   */
  say(chat, text, { from = ada, replyTo, more } = {}) {
    const entities = text?.startsWith("/") ? [{ type: "bot_command", offset: 0, length: text.split(" ")[0].length }] : undefined;
    const message = { message_id: ++this.#ids, date: Math.floor(Date.now() / 1000), chat, from, text, entities, reply_to_message: replyTo, ...more };
    this.#updates.push({ update_id: ++this.#ids, message });
    for (const wake of this.#waiting) wake();
    return message;
  }

  /** The bot's messages in a chat, oldest first. */
  heard(chat) {
    return this.calls
      .filter(({ method, body }) => /^(sendMessage|sendRichMessage|editMessageText)$/.test(method) && Number(body.chat_id) === chat.id)
      .map(({ body }) => body.text ?? JSON.stringify(body));
  }

  async stop() {
    for (const wake of this.#waiting) wake();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  async #poll(offset, seconds) {
    this.#updates = this.#updates.filter((update) => update.update_id >= offset);
    if (this.#updates.length === 0 && seconds > 0) {
      await new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.min(seconds, 20) * 1000);
        this.#waiting.add(wake);
      });
    }
    return this.#updates;
  }

  async #answer(req, res) {
    const url = new URL(req.url, this.url);
    const file = /^\/file\/bot[^/]+\/(.+)$/.exec(url.pathname);
    if (file) return void res.end(this.files.get(file[1]));
    const asked = { ...Object.fromEntries(url.searchParams), ...(await body(req)) };
    const method = url.pathname.split("/").pop();
    if (method !== "getUpdates") this.calls.push({ method, body: asked });
    json(res, 200, { ok: true, result: await this.#result(method, asked) });
  }

  #result(method, asked) {
    const id = Number(asked.chat_id);
    const chat = id === direct.id ? direct : { ...group, id };
    switch (method) {
      case "getUpdates":
        return this.#poll(Number(asked.offset ?? 0), Number(asked.timeout ?? 0));
      case "getMe":
        return bot;
      case "getWebhookInfo":
        return { url: "", has_custom_certificate: false, pending_update_count: 0 };
      case "getChat":
        return chat;
      case "getFile":
        return { file_id: asked.file_id, file_unique_id: asked.file_id, file_size: this.files.get(asked.file_id)?.length, file_path: asked.file_id };
      case "getChatMember":
        return { status: "administrator", user: bot };
      case "getMyCommands":
      case "getChatAdministrators":
        return [];
      case "sendMessage":
      case "sendRichMessage":
      case "editMessageText":
        return { message_id: Number(asked.message_id ?? ++this.#ids), date: Math.floor(Date.now() / 1000), from: bot, chat, text: asked.text ?? "" };
      default:
        return true;
    }
  }
}
