// Package index is the searchable copy of the experiences (contract §12): an
// SQLite file beside the other state, which follows the bucket and is never the
// only copy. A file that is missing, damaged, or of another version is made
// again.
//
// The table experiences has the columns of the contract. Three tables beside it
// find them: terms, the words; postings, in which rows each word is, in blocks of
// rows; sets, which rows have a status or an agent.
//
// Several processes may have one file open. What is applied is idempotent by
// revision, and a process that meets a copy which another one has begun again is
// told so.
package index
