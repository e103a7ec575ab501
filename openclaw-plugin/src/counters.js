// What /hint counts.

export function newCounters() {
  return {
    /** Requests that were sent. */
    asked: 0,
    /** Requests that got a reply, of whatever kind. */
    answered: 0,
    /** Replies without a decision. */
    noDecision: 0,
    /** Replies that could not be used. */
    garbage: 0,
    /** Requests without a reply in time. */
    late: 0,
    /** Requests without a responder. */
    nobody: 0,
    /** Requests that were not sent: no connection, or a pause after late answers. */
    skipped: 0,
    /** Requests and events that failed otherwise. */
    failed: 0,
    /** Events that were queued for the stream. */
    told: 0,
  };
}

/** @typedef {ReturnType<typeof newCounters>} Counters */
