package index_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// Parts find their German compounds, compounds their parts, and chance finds nothing.
func TestSearchFindsPartsOfCompounds(t *testing.T) {
	t.Parallel()
	x := index.New()
	for i, e := range []experience.Experience{
		approved("invoices", "Rechnungsversand hängt nachts", "Mailserver", "gedrosselt"),
		approved("sending", "Versand der letzten Rechnung", "Post", "per Einschreiben"),
		approved("driver", "Druckertreiber fehlt", "CUPS", "ohne ihn geht es auch"),
		approved("period", "Kündigungsfrist im Mietvertrag", "Verein", "ein Monat früher"),
		approved("backup", "Datenbanksicherung schlägt fehl", "pg_dump", "alte gelöscht"),
		approved("bus", "Schulbusverbindung fällt aus", "Landkreis", "Taxi"),
		approved("english", "The cartoon shows a firewall", "paint", "done"),
	} {
		x.Apply([]experience.Change{change(i+1, e)})
	}
	for _, tt := range []struct{ name, text, want string }{
		{"first part, with the whole word elsewhere", "Rechnung", "sending invoices"},
		{"last part", "Versand", "sending invoices"},
		{"plural of the first part", "Rechnungen", "invoices"},
		{"compound finds its parts too", "Rechnungsversand", "invoices sending"},
		{"last part with another ending", "Treiber", "driver"},
		{"first part", "Drucker", "driver"},
		{"umlaut", "Kündigung", "period"},
		{"part of the second word", "Vertrag", "period"},
		{"part that only the list knows", "Sicherung", "backup"},
		{"parts of a compound that is not there", "Vertragskündigung", ""},
		{"three parts", "Verbindung", "bus"},
		{"no part, with a rest that is no word", "toon", ""},
		{"English beginning with a rest that is no word", "fire", "english"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, strings.Join(search(t, x, tt.text), " "))
		})
	}
	x.Apply([]experience.Change{removed(20, "invoices")})
	require.Equal(t, []string{"sending"}, search(t, x, "Versand"), "a removed compound is forgotten")
}

func TestSearchFindsBothFormsOfChinese(t *testing.T) {
	t.Parallel()
	x := made(
		change(1, approved("simplified", "数据库备份失败", "硬盘", "删除旧备份")),
		change(2, approved("traditional", "資料庫連線逾時", "防火牆", "開放連接埠")),
		change(3, approved("japanese", "会議の録音", "機材", "マイクを近づける")),
	)
	for text, want := range map[string]string{
		"資料庫備份失敗": "simplified", "數據庫備份": "simplified", "硬盤": "simplified",
		"数据库连线": "traditional", "防火墙": "traditional", "连接": "traditional", "開放": "traditional",
		"會議": "japanese", "錄音": "", "录音": "", "機材": "japanese",
	} {
		ids := search(t, x, text)
		if want == "" {
			require.NotContains(t, ids, "simplified", text)
			continue
		}
		require.NotEmpty(t, ids, text)
		require.Equal(t, want, ids[0], text)
	}
}
