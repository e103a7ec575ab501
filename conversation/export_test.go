package conversation

// FrameExamples returns, by name, every frame of the tests around words.
func FrameExamples(words string) map[string]string {
	out := map[string]string{}
	for _, e := range frameExamples {
		out[e.name] = e.around(words)
	}
	return out
}
