// Package vectors gets the vectors of a catalogue's texts from an embedding model
// and keeps them on disk, so that each text is embedded once.
package vectors
