// Command weights makes the generated files that are part of the product: the
// weights of the built-in encoder, the vectors of the built-in intents, what the
// local classifier learns from them, and the model that finds prompt injections.
//
//	go -C tools run ./weights
//	go -C tools run ./weights vectors classifier
//	go -C tools run ./weights -people DIR trust
//	go -C tools run ./weights -quick -into DIR
//
// The numbers for what people type ("trust") are fitted to labelled messages in DIR;
// without it they stay.
// Files get the paths below DIR that they have in the repository, which is the
// default. -quick shows in half a minute that they can be made: the model that
// finds prompt injections is then trained with a third of the texts, so DIR must be
// another folder. The same sources give the same files, on the same processor type.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// kinds are the files, in the order in which they are made.
var kinds = []struct {
	name string
	run  func(context.Context, tree) error
}{
	{"encoder", encoderWeights},
	{"vectors", vectorFile},
	{"classifier", classifierWeights},
	{"trust", trustWeights},
	{"safety", safetyModel},
}

func main() {
	into := flag.String("into", "..", "`folder` that the files are written below")
	quick := flag.Bool("quick", false, "only show that the files can be made; needs -into")
	people := flag.String("people", "", "`folder` with messages of people, to fit the trust in answers to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *into, *people, *quick, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "weights:", err)
		os.Exit(1)
	}
}

// run makes the files of the given kinds, or of all if there are none.
func run(ctx context.Context, into, people string, quick bool, names []string) error {
	var all []string
	for _, k := range kinds {
		all = append(all, k.name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("%q is none of %s", name, strings.Join(all, ", "))
		}
	}
	root, err := filepath.Abs(into)
	if err != nil {
		return err
	}
	if people != "" {
		if people, err = filepath.Abs(people); err != nil {
			return err
		}
	}
	if product, err := filepath.Abs(".."); err != nil || quick && root == product {
		return errors.Join(err, errors.New("-quick needs -into and another folder than the repository"))
	}
	for _, k := range kinds {
		if len(names) > 0 && !slices.Contains(names, k.name) {
			continue
		}
		if err := k.run(ctx, tree{root, quick, people}); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// tree is a folder with the repository's layout that files are written to.
type tree struct {
	root  string // an absolute path
	quick bool
	// people is a folder with messages of people, an absolute path; "" without one.
	people string
}

func (t tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// write writes a file, and creates its folder if necessary.
func (t tree) write(name string, data []byte) error {
	path := t.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil { //nolint:gosec // below a folder that the user names
		return err
	}
	fmt.Println(path, len(data), "bytes")
	return nil
}
