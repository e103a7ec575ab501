package local

// Complexity says how much work a message asks for: low, medium or high.
func Complexity(message string) string {
	n := len(message)
	switch {
	case n < 80:
		return "low"
	case n < 400:
		return "medium"
	}
	return "high"
}
