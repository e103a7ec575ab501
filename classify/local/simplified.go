package local

// simplified maps traditional characters to simplified ones, so that a message
// in one script finds examples in the other. It holds the characters of
// everyday messages that differ.
var simplified = pairs("")

func pairs(table string) map[rune]rune {
	m := make(map[rune]rune, len(table)/6)
	var from rune
	for _, r := range table {
		switch {
		case r == ' ' || r == '\n':
		case from == 0:
			from = r
		default:
			m[from] = r
			from = 0
		}
	}
	return m
}
