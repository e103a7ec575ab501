package local

import (
	"slices"
	"strings"

	"intenthint/internal/text"
	"intenthint/payload"
)

// complexityBytes is how much of a message complexityOf reads. Only code blocks
// are searched for in the whole message.
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
//
// It uses t as scratch memory.
func complexityOf(t *reading, message string) string {
	code := strings.Contains(message, "```")
	message = text.CutBytes(message, complexityBytes)
	t.tokens, t.runes = t.tokens[:0], t.runes[:0]
	t.add(message)
	var halfWords, hard, steps int
	count := func(h uint64) {
		if _, ok := hardWords[h]; ok {
			hard++
		}
		if _, ok := stepWords[h]; ok {
			steps++
		}
	}
	for _, tok := range t.tokens {
		runes := t.runes[tok.start:tok.end]
		switch tok.kind {
		case tokenWord:
			halfWords += 2
			count(hashWord(runes))
		case tokenHan:
			halfWords += len(runes)
			for i := range len(runes) - 1 {
				count(hashWord(runes[i : i+2]))
			}
		}
	}
	for line := range strings.Lines(message) {
		if isListItem(strings.TrimLeft(line, " ")) {
			steps++
		}
	}
	points := min(steps, 3)
	switch words := halfWords / 2; {
	case words >= 120:
		points += 3
	case words >= 45:
		points += 2
	case words >= 16:
		points++
	}
	if hard > 0 {
		points += min(hard+1, 4)
	}
	questions := strings.Count(message, "?") + strings.Count(message, "？")
	points += min(max(questions-1, 0), 2)
	if code || strings.Count(message, "\n") > 6 {
		points += 2
	}
	switch {
	case points >= 5:
		return payload.ComplexityHigh
	case points >= 2:
		return payload.ComplexityMedium
	}
	return payload.ComplexityLow
}

// isListItem reports whether a line begins like a list item: "- ", "* ", "• ",
// "1. ", "2) ", "3、".
func isListItem(line string) bool {
	marks := []string{"- ", "* ", "• "}
	if rest := strings.TrimLeft(line, "0123456789"); rest != line {
		line, marks = rest, []string{". ", ") ", "、"}
	}
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(line, mark) })
}

// hardWords ask for thought; the Chinese and Japanese ones are two characters
// long, in simplified form (see compared).
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
