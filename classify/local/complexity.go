package local

import (
	"strings"
	"unicode/utf8"

	"intenthint/payload"
)

// complexityBytes is how much of a message complexityOf reads; more is long by
// any measure. Only a block of code may stand farther on.
const complexityBytes = 1024

// complexityOf rates how much work a message asks for: low, medium or high. It
// adds up points, and calls 2 and more medium, 5 and more high:
//
//   - length: 1 from 16 words on, 2 from 45, 3 from 120; two characters of a
//     script without spaces are a word;
//   - work that takes thought ("design", "compare", 重構): 2 for the first such
//     word, 1 for every other, at most 4;
//   - steps ("then", "finally", 然後) and items of a list: 1 each, at most 3;
//   - questions after the first: 1 each, at most 2;
//   - a block of code or more than six lines: 2.
func complexityOf(message string) string {
	e := effortOf(message)
	switch points := e.points(); {
	case points >= 5:
		return payload.ComplexityHigh
	case points >= 2:
		return payload.ComplexityMedium
	}
	return payload.ComplexityLow
}

// effort counts the signs of how much work a message asks for.
type effort struct {
	halves           int // half words
	hard, steps      int // words of either kind; items of a list are steps too
	questions, lines int
	code             bool
}

func (e *effort) points() int {
	points := 0
	switch words := e.halves / 2; {
	case words >= 120:
		points = 3
	case words >= 45:
		points = 2
	case words >= 16:
		points = 1
	}
	if e.hard > 0 {
		points += min(e.hard+1, 4)
	}
	points += min(e.steps, 3) + min(max(e.questions-1, 0), 2)
	if e.code || e.lines > 6 {
		points += 2
	}
	return points
}

// hear counts the hash of a word, or of two characters.
func (e *effort) hear(h uint64) {
	if _, ok := hardWords[h]; ok {
		e.hard++
	}
	if _, ok := stepWords[h]; ok {
		e.steps++
	}
}

func effortOf(message string) effort {
	e := effort{code: strings.Contains(message, "```")}
	if len(message) > complexityBytes {
		message = message[:complexityBytes]
	}
	var (
		h    = uint64(hashSeed)
		n    int  // characters of the current word
		prev rune // the previous character of a script without spaces; 0 for none
	)
	endWord := func() {
		if n > 0 {
			e.halves += 2
			e.hear(h)
			h, n = hashSeed, 0
		}
	}
	lineStart := true
	for i := 0; i < len(message); {
		r, size := rune(message[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(message[i:])
		}
		if lineStart && isListItem(message[i:]) {
			e.steps++
		}
		lineStart = r == '\n' || lineStart && r == ' '
		switch r {
		case '\n':
			e.lines++
		case '?', '？':
			e.questions++
		}
		i += size
		if r = fold(r); r < 0 {
			if r == runeSpace {
				endWord()
				prev = 0
			}
			continue
		}
		switch kindOf(r) {
		case tokenHan:
			endWord()
			e.halves++
			if prev != 0 {
				e.hear(hashStep(hashStep(hashSeed, prev), r))
			}
			prev = r
		case tokenWord:
			prev = 0
			h = hashStep(h, r)
			n++
		default:
			endWord()
			prev = 0
		}
	}
	endWord()
	return e
}

// isListItem reports whether a line begins as an item of a list: "- ", "* ",
// "• ", "1. ", "2) ", "3、".
func isListItem(line string) bool {
	for _, bullet := range []string{"- ", "* ", "• "} {
		if strings.HasPrefix(line, bullet) {
			return true
		}
	}
	digits := 0
	for digits < len(line) && digits < 3 && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		return false
	}
	rest := line[digits:]
	return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ") || strings.HasPrefix(rest, "、")
}

// hardWords ask for thought; the Chinese and Japanese ones are in simplified
// characters (see fold), two of them.
var hardWords = wordSet(`
	design redesign architect architecture architectural refactor refactoring implement implementing implementation
	analyze analyse analysis analyzing evaluate evaluation assess compare comparison comparing contrast
	migrate migration migrating optimize optimise optimization debug debugging diagnose troubleshoot investigate
	research plan planning strategy roadmap proposal integrate integration prove derive simulate
	comprehensive thorough thoroughly detailed detail indepth essay report dissertation thesis
	tradeoff tradeoffs scalable benchmark audit develop build rewrite
	设计 重构 实作 实现 分析 评估 比较 对比 迁移 优化 除错 调试 诊断 排查 研究 规划 策略 方案 整合 推导 证明 详细 完整 深入 报告 论文 架构 开发 重写 统整
	設計 重構 實現 評估 比較 遷移 優化 除錯 診斷 規劃 調查 詳細 報告 論文 架構 開發 実装 検討 最適 改善 詳細
`)

// stepWords put one thing after another.
var stepWords = wordSet(`
	then afterwards afterward finally next lastly secondly thirdly additionally furthermore moreover followed subsequently meanwhile
	然后 然後 接着 接著 最后 最後 并且 並且 另外 同时 同時 再来 再來 其次 此外 之后 之後 次に
`)
