package natstest

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// Main runs the tests of a package, so many in parallel for each processor unless
// -parallel is set: tests with servers wait more than they compute.
func Main(m *testing.M, perProcessor int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(perProcessor*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	m.Run()
}
