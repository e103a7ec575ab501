// Package index searches the experiences (contract §12). It is a copy of the bucket in
// memory: a row for each experience, and for each word the rows that contain it. It
// reads and writes nothing; who follows the bucket applies its changes.
package index
