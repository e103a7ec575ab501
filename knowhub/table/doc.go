// Package table writes the experiences of a process to SQLite, for people who read them
// with SQL (contract §12). This program never reads the file.
//
// Of the processes with the same data directory one writes, which a lock decides. A file
// that is missing, of an earlier version, damaged, or changed by others is replaced by a
// new one.
package table
