// Package index is the searchable copy of the experiences (contract §12): an
// SQLite file in the data directory, which follows the bucket and is never the
// only copy. A missing or damaged file, or one of another version, is rebuilt.
//
// The table experiences has the columns of the contract. Three more tables form
// the search index: terms holds the words; postings the rows of each word, in
// blocks of rows; sets the rows that have a status or an agent.
//
// Several processes may have the same file open. Changes are idempotent by
// revision. A process whose copy was begun again by another process gets an
// error.
package index
