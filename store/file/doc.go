// Package file keeps sessions as files in one directory (contract §8), which
// several processes may share. Beside <token>.json there may stand
//
//   - <token>.history.jsonl: turns that were retired from the session file, one
//     per line; the last line of a run id counts.
//   - <token>.pending: a journal of facts that no turn shows yet, one per line.
//   - <token>.corrupt-<unix ms>: a session file that could not be read; likewise
//     <token>.history.jsonl.corrupt-… and <token>.pending.corrupt-….
//   - .source: the event stream that the sessions are made from.
//   - .lost: the sessions to rebuild.
//   - .removed: hashes of the runs of removed sessions, which late events do not
//     begin again.
//
// Applied facts survive a crash of the process and of the machine: files are
// synced to the disk before their events are acknowledged. Events that were not
// acknowledged are delivered again.
package file
