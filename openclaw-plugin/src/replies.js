// Replies: what a responder sent, and what the gateway gets of it.

/** @typedef {import("@nats-io/transport-node").MsgHdrs} MsgHdrs */

/**
 * A decision: decided is false without a usable answer, and result is undefined when the answer was
 * "no decision". The headers say why.
 *
 * @typedef {{decided: boolean, result: object | undefined, headers?: MsgHdrs | undefined}} Decision
 */

/** @type {Decision} */
export const NO_ANSWER = Object.freeze({ decided: false, result: undefined });

/**
 * Parses a reply's body.
 *
 * @param {Uint8Array} body
 * @returns {unknown} undefined when it is not JSON
 */
export function parse(body) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/**
 * Reads the reply to a hook's request. Its body is the hook's result, passed on unchanged.
 *
 * @param {Uint8Array} body
 * @param {MsgHdrs} [headers]
 * @returns {{result: object, fault?: undefined} | {fault: string}} fault says why it is unusable
 */
export function readResult(body, headers) {
  const error = headers?.get("Nats-Service-Error") ?? "";
  if (error !== "") return { fault: `the reply is an error: ${error}` };
  const result = parse(body);
  if (result === null || typeof result !== "object" || Array.isArray(result)) return { fault: "a reply is not a JSON object" };
  return { result };
}
