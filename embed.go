// Package intenthint holds the files that stand at the top of the repository
// and are built into the binary.
package intenthint

import _ "embed"

// NATSConf is the configuration of the embedded NATS server that serves when
// no file is there (contract §9, HINT_NATS_CONF).
//
//go:embed nats.conf
var NATSConf string
