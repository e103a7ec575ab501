package payload

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

func FuzzWalk(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[1,{"c":"]}\\"}],"d\u0065":"\\\"","f":null}`, ` [ 1 , "a" , [ ] , { } , true , -1e5 ] `, `[]`, `{}`, `{"":""}`,
		`{"a`, `["\`, `[1,,2]`, `{"a":}`, `{"a"`, `[`, `{`, ``, `{"a":"b\\"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var names, fields, elements []string
		eachField(s, func(name, value string) bool {
			names, fields = append(names, name), append(fields, value)
			return true
		})
		eachElement(s, func(value string) bool {
			elements = append(elements, value)
			return true
		})
		root := gjson.Parse(s)
		if !json.Valid([]byte(s)) || len(root.Raw) != len(s) {
			return // it was walked without a panic
		}
		var wantNames, want []string
		root.ForEach(func(name, value gjson.Result) bool {
			wantNames, want = append(wantNames, name.Str), append(want, value.Raw)
			return true
		})
		switch {
		case root.IsObject():
			require.Equal(t, wantNames, names)
			require.Equal(t, want, fields)
		case root.IsArray():
			require.Equal(t, want, elements)
		}
	})
}
