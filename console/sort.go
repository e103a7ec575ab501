package console

import (
	"cmp"
	"slices"
	"strings"
)

// A list is sorted by the value of "sort" in its address: one of its keys, with "-" in
// front from the greatest on; "" is the order in which the list is made.

// sortOf returns a value of "sort" if it is one of the keys, else "".
func sortOf(value string, keys []option) string {
	if known(strings.TrimPrefix(value, "-"), keys) == "" {
		return ""
	}
	return value
}

// sortLink leads to the same list in another order.
type sortLink struct {
	Name, URL string
	// Arrow is that of the present order, "" for another one.
	Arrow string
}

// sortLinks returns the orders of a list. The link of the present one turns it around;
// page returns the address of the list in an order.
func sortLinks(keys []option, current string, page func(sort string) string) (out []sortLink) {
	for _, k := range keys {
		l := sortLink{Name: k.Name, URL: page(k.Value)}
		switch {
		case current == k.Value && k.Value == "":
			l.Arrow = "↓"
		case current == k.Value:
			l.URL, l.Arrow = page("-"+k.Value), "↑"
		case current == "-"+k.Value:
			l.Arrow = "↓"
		}
		out = append(out, l)
	}
	return out
}

// sortBy sorts a list in an order, by the comparison of each key. Equal ones stay in
// their order, as do all for "".
func sortBy[T any](list []T, sort string, by map[string]func(a, b T) int) {
	compare := by[strings.TrimPrefix(sort, "-")]
	if compare == nil {
		return
	}
	if strings.HasPrefix(sort, "-") {
		slices.SortStableFunc(list, func(a, b T) int { return compare(b, a) })
		return
	}
	slices.SortStableFunc(list, compare)
}

// byText compares by a text.
func byText[T any](of func(T) string) func(a, b T) int {
	return func(a, b T) int { return strings.Compare(of(a), of(b)) }
}

// byNumber compares by a number.
func byNumber[T any, N cmp.Ordered](of func(T) N) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(of(a), of(b)) }
}

// section returns the part of a list that a page shows: shown of them after skip. more is whether there are
// further ones.
func section[T any](list []T, skip, shown int) (out []T, more bool) {
	list = list[min(max(skip, 0), len(list)):]
	return list[:min(shown, len(list))], len(list) > shown
}
