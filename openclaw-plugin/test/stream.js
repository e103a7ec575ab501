// What a stream holds.

import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

/**
 * The events in a stream, oldest first.
 *
 * @param {string} url
 * @param {string} name
 */
export async function eventsIn(url, name) {
  const nc = await connect({ servers: url.replace("nats://", "") });
  try {
    const jsm = await jetstreamManager(nc);
    const { first_seq, last_seq } = (await jsm.streams.info(name)).state;
    const out = [];
    for (let seq = first_seq; seq <= last_seq; seq++) {
      const msg = await jsm.streams.getMessage(name, { seq });
      if (msg) out.push({ subject: msg.subject, id: msg.header.get("Nats-Msg-Id"), body: /** @type {any} */ (msg.json()) });
    }
    return out;
  } finally {
    await nc.close();
  }
}
