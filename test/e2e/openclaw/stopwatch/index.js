// Is first and last among the handlers of before_prompt_build and before_dispatch,
// which the gateway awaits one after the other: the time between is that of the
// other handlers. It writes a line {runId, ms} or {messageId, ms} to $E2E_TIMINGS
// for each pair. A message that is skipped has none: nobody is asked after that.
// Each prompt with the user's messages before it is a line in $E2E_PROMPTS.

import { appendFileSync } from "node:fs";

const begun = new Map();

export default {
  id: "stopwatch",
  name: "Stopwatch",
  description: "Notes how long the other plugins hold a prompt or a message.",
  register(api) {
    api.on("before_prompt_build", ({ prompt, currentUserMessage, messages }, { trigger, chatType, sessionKey }) => {
      const history = messages.filter(({ role }) => role === "user").map(({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n")));
      appendFileSync(process.env.E2E_PROMPTS, `${JSON.stringify({ prompt, currentUserMessage, history, trigger, chatType, sessionKey })}\n`);
    });
    for (const [hook, name] of [["before_prompt_build", "runId"], ["before_dispatch", "messageId"]]) {
      api.on(hook, (_event, ctx) => void begun.set(ctx[name], performance.now()), { priority: 1_000_000 });
      api.on(
        hook,
        (_event, ctx) => {
          const ms = performance.now() - begun.get(ctx[name]);
          begun.delete(ctx[name]);
          appendFileSync(process.env.E2E_TIMINGS, `${JSON.stringify({ [name]: ctx[name], ms })}\n`);
        },
        { priority: -1_000_000 },
      );
    }
  },
};
