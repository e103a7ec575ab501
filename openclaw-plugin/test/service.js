// Somebody else's service that decides about a hook.

import { connect, headers } from "@nats-io/transport-node";

/**
 * Starts a service on a connection of its own, in no queue group.
 *
 * @param {object} options
 * @param {string} options.url
 * @param {string} options.subject
 * @param {(body: any) => object} options.decide the result for a request's body
 * @param {(body: any) => Record<string, string>} [options.explain] headers of the reply
 * @param {number} [options.delayMs] before each reply
 */
export async function startService({ url, subject, decide, explain, delayMs = 0 }) {
  const nc = await connect({ servers: url.replace("nats://", "") });
  /** @type {any[]} */
  const asked = [];
  nc.subscribe(subject, {
    callback: (_error, msg) => {
      const body = msg.json();
      asked.push(body);
      const header = headers();
      for (const [name, value] of Object.entries(explain?.(body) ?? {})) header.set(name, value);
      const reply = () => void msg.respond(JSON.stringify(decide(body)), { headers: header });
      if (delayMs > 0) setTimeout(reply, delayMs);
      else reply();
    },
  });
  await nc.flush();
  return {
    /** Bodies of all requests, oldest first. */
    asked,
    stop: () => nc.drain(),
  };
}
