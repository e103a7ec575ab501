// Package bucket keeps the state that KnowHub shares between all consumer
// processes (contract §12), in two JetStream key-value buckets:
//
//	<STREAM>_EXPERIENCES    <id>         an [experience.Experience]: the truth about it
//	<STREAM>_KNOWHUB_TURNS  <session>    the turns of a session, kept for a time
//
// Every change is a compare-and-set. A missing bucket is created by the next
// call. While the bucket or the server is unreachable, calls fail at once or
// when their context ends.
package bucket
