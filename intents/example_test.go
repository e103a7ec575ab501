package intents_test

import (
	"fmt"
	"testing/fstest"

	"intenthint/intents"
)

func ExampleLoad() {
	files, faults, err := intents.Load(fstest.MapFS{
		"remind.md": {Data: []byte("---\nid: REMIND\nname: Reminder\ntriggers:\n  - The user wants to be reminded\n---\nSet a reminder.\n")},
		"broken.md": {Data: []byte("---\nid: BROKEN\n---\n")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range intents.CatalogOf(files).Enabled() {
		fmt.Printf("%s: %s\n", in.ID, in.Prompt)
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	// Output:
	// REMIND: Set a reminder.
	// broken.md:1: triggers is missing
	// broken.md:3: no prompt after the front matter
}

func ExampleDeny() {
	deny := intents.NewDeny(map[string][]string{"work-*": {"music*"}})
	catalog := intents.NewCatalog([]intents.Intent{{ID: "MUSIC_PLAY"}, {ID: "REMIND"}})
	for _, agent := range []string{"main", "work-1"} {
		fmt.Print(agent, ":")
		for _, in := range deny.Narrow(catalog, agent).Enabled() {
			fmt.Print(" ", in.ID)
		}
		fmt.Println()
	}
	// Output:
	// main: MUSIC_PLAY REMIND
	// work-1: REMIND
}
