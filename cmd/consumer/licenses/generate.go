//go:build ignore

// Command generate collects the licence texts of the modules in the consumer's binary
// from the module cache. Run it with go generate after a change of go.mod.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}} {{.Dir}}{{end}}", "intenthint/cmd/consumer").Output()
	check(err)
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(modules)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	version, err := exec.Command("go", "env", "GOVERSION").Output()
	check(err)
	modules = append(slices.Compact(modules), "weights of the sentence encoder ../../../classify/encoder/weights", "Go "+strings.TrimSpace(string(version))+" "+strings.TrimSpace(string(root)))

	byText := map[string][]string{}
	var texts []string
	for _, module := range modules {
		fields := strings.Fields(module)
		if len(fields) < 2 {
			continue
		}
		dir := fields[len(fields)-1]
		name := strings.Join(fields[:len(fields)-1], " ")
		text := textsIn(dir)
		if name == "intenthint" {
			text = textsIn("../../..")
		}
		if text == "" {
			log.Fatalf("no licence text in %s of %s", dir, name)
		}
		if byText[text] == nil {
			texts = append(texts, text)
		}
		byText[text] = append(byText[text], name)
	}
	var all bytes.Buffer
	for _, text := range texts {
		fmt.Fprintf(&all, "%s\n%s\n\n%s\n\n", strings.Repeat("=", 80), strings.Join(byText[text], "\n"), strings.TrimSpace(text))
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	check(err)
	_, err = w.Write(all.Bytes())
	check(err)
	check(w.Close())
	check(os.WriteFile("licenses.txt.gz", packed.Bytes(), 0o644))
}

// textsIn returns the licences and notices of a directory.
func textsIn(dir string) string {
	entries, err := os.ReadDir(dir)
	check(err)
	var out []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "NOTICE") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "PATENTS") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		check(err)
		out = append(out, strings.TrimSpace(string(text)))
	}
	return strings.Join(out, "\n\n")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
