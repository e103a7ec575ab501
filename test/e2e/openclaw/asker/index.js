// A plugin that asks the gateway's decision model what a call of its method says, and answers with the
// outcome, or how the promise was rejected, and the time that it took.

export default {
  id: "asker",
  name: "Asker",
  description: "Asks the decision model what a test asks it.",
  register(api) {
    api.registerGatewayMethod("asker.evaluate", async ({ params: { batch, timeoutMs, abortAfterMs }, respond }) => {
      const controller = new AbortController();
      if (abortAfterMs !== undefined) setTimeout(() => controller.abort(), abortAfterMs);
      const began = performance.now();
      const settled = (result) => respond(true, { ...result, ms: performance.now() - began });
      try {
        const options = { agentId: "main", purpose: "asker/test", rubricVersion: "1", timeoutMs, signal: controller.signal };
        settled(await api.runtime.decisions.evaluate(batch, options));
      } catch (error) {
        settled({ rejected: error.name });
      }
    });
  },
};
