// Stands first and last among the handlers of before_prompt_build, which the
// gateway awaits one after the other: what lies between is what the others
// cost the turn. Each pair becomes a line {runId, ms} of $E2E_TIMINGS.

import { appendFileSync } from "node:fs";

const begun = new Map();

export default {
  id: "stopwatch",
  name: "Stopwatch",
  description: "Notes how long the other plugins hold a prompt.",
  register(api) {
    api.on("before_prompt_build", (_event, ctx) => void begun.set(ctx.runId, performance.now()), { priority: 1_000_000 });
    api.on(
      "before_prompt_build",
      (_event, ctx) => {
        const ms = performance.now() - begun.get(ctx.runId);
        begun.delete(ctx.runId);
        appendFileSync(process.env.E2E_TIMINGS, `${JSON.stringify({ runId: ctx.runId, ms })}\n`);
      },
      { priority: -1_000_000 },
    );
  },
};
