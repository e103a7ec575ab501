package local_test

import (
	"fmt"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
)

func ExampleTrained() {
	catalog := intents.Bundled()
	model := local.Trained(catalog)
	answer := model.Classify(classify.Input{Catalog: catalog, Latest: "remind me to call Anna tomorrow"})
	fmt.Println(answer.Intent, answer.Source, answer.Confidence > 0.5)
	// Output: PRODUCTIVITY_CALENDAR local true
}
