// Package conversation turns a gateway's messages into the turns that a
// classifier sees (contract §5). Everything in it is a pure function, linear
// in the length of its input.
package conversation
