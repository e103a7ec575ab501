package extract_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/extract"
)

func of(task, resource, result string) experience.Experience {
	return experience.Experience{Task: task, Resource: resource, Result: result, Status: experience.Pending, Confidence: 0.8}
}

func TestSame(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		a, b experience.Experience
		want bool
	}{
		"equal":                       {of("Fix the build", "go", "Clean the module cache"), of("Fix the build", "go", "Clean the module cache"), true},
		"case and marks":              {of("Fix the build", "go", "Clean the module cache"), of("fix the BUILD.", "Go", "clean the module-cache!"), true},
		"forms of words":              {of("Fix the failing build after an upgrade", "go", "Clean the module cache, then build again"), of("Fixed the failing builds after upgrades", "go", "Cleaned the module cache, then built again"), true},
		"a word more":                 {of("Fix the build after an upgrade", "go", "Clean the module cache with go clean -modcache"), of("Fix the build after a Go upgrade", "go", "Clean the whole module cache with go clean -modcache"), true},
		"another order":               {of("Fix the build", "go", "Then build again after you clean the module cache"), of("Fix the build", "go", "After you clean the module cache then build again"), false},
		"the other direction":         {of("Copy the files", "rsync", "Copy from the source host to the target host with the delete flag"), of("Copy the files", "rsync", "Copy from the target host to the source host with the delete flag"), false},
		"Chinese":                     {of("升级后构建失败", "npm", "删除缓存后重新安装即可解决"), of("升级之后构建失败", "npm", "删除缓存后重新安装即可解决问题"), true},
		"another task":                {of("Fix the build", "go", "Clean the module cache"), of("Deploy the site", "make", "Run make release and check the log"), false},
		"same task":                   {of("Fix the build", "go", "Clean the module cache"), of("Fix the build", "go", "Set GOFLAGS to vendor and pin the toolchain"), false},
		"another number":              {of("Open the port", "nats", "The server listens on port 4222 by default"), of("Open the port", "nats", "The server listens on port 8222 by default"), false},
		"another version":             {of("Upgrade the client", "npm", "Version v2.3 breaks the login on Safari"), of("Upgrade the client", "npm", "Version v2.4 breaks the login on Safari"), false},
		"a negation":                  {of("Deploy on Friday", "make", "Use the canary for the first hour"), of("Deploy on Friday", "make", "Do not use the canary for the first hour"), false},
		"a Chinese negation":          {of("部署服务", "make", "先使用金丝雀发布再全量部署"), of("部署服务", "make", "不使用金丝雀发布再全量部署"), false},
		"the opposite":                {of("Build the frontend", "npm", "The build works with this version of the compiler"), of("Build the frontend", "npm", "The build fails with this version of the compiler"), false},
		"the other way round":         {of("Send mail", "smtp", "Port 465 works, 587 is blocked by the provider"), of("Send mail", "smtp", "Port 587 works, 465 is blocked by the provider"), false},
		"another setting":             {of("Speed up the build", "CACHE=on", "The build takes half the time now"), of("Speed up the build", "CACHE=off", "The build takes half the time now"), false},
		"another host":                {of("Reach the service", "curl", "The certificate of api.example.com had expired"), of("Reach the service", "curl", "The certificate of www.example.com had expired"), false},
		"another path":                {of("Find the log", "less", "The log is in /var/log/app/main.log"), of("Find the log", "less", "The log is in /opt/app/log/main.log"), false},
		"the Chinese opposite":        {of("升级数据库", "pg", "升级数据库之后登录成功"), of("升级数据库", "pg", "升级数据库之后登录失败"), false},
		"another form of such a word": {of("Fix the build after an upgrade", "go", "The build works once the module cache is clean"), of("Fixed the build after an upgrade", "go", "The build worked once the module cache was clean"), true},
		"another number in words":     {of("Upload large files", "curl", "Retry the upload three times before you give up"), of("Upload large files", "curl", "Retry the upload five times before you give up"), false},
		"another adjective":           {of("Run vacuum full during the day", "psql", "This is safe on the big table"), of("Run vacuum full during the day", "psql", "This is unsafe on the big table"), false},
		"another tool":                {of("Convert the lecture recordings", "ffmpeg", "Two passes give a smaller file"), of("Convert the lecture recordings", "handbrake", "Two passes give a smaller file"), false},
		"another place":               {of("Move the backups", "rsync", "The copy in Amsterdam is the one to restore from"), of("Move the backups", "rsync", "The copy in Rotterdam is the one to restore from"), false},
		"another time":                {of("Give the parrot its medicine", "Baytril", "One drop in the morning with food"), of("Give the parrot its medicine", "Baytril", "One drop in the evening with food"), false},
		"another German system":       {of("Datenbank aktualisieren", "psql", "Erst das Testsystem aktualisieren und eine Stunde warten"), of("Datenbank aktualisieren", "psql", "Erst das Produktivsystem aktualisieren und eine Stunde warten"), false},
		"another Chinese number":      {of("上傳大檔案", "curl", "失敗時重試上傳三次再放棄"), of("上傳大檔案", "curl", "失敗時重試上傳五次再放棄"), false},
		"another Japanese system":     {of("デプロイの手順", "make", "ステージングで確認してから進める"), of("デプロイの手順", "make", "本番で確認してから進める"), false},
		"an exception":                {of("Water the plants", "can", "Water them in the garden every day in summer"), of("Water the plants", "can", "Water them in the garden every day except in summer"), false},
		"nothing at all":              {of("", "", ""), of("", "", ""), true},
		"nothing and more":            {of("", "", ""), of("Fix the build", "go", "Clean the cache"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, extract.Same(c.a, c.b))
			require.Equal(t, c.want, extract.Same(c.b, c.a))
		})
	}
}

func TestImproves(t *testing.T) {
	t.Parallel()
	known := of("Fix the build", "go", "Clean the module cache")
	longer := of("Fix the build", "go", "Clean the module cache with go clean -modcache")
	with := func(e experience.Experience, change func(*experience.Experience)) experience.Experience {
		change(&e)
		return e
	}
	flagged := func(e *experience.Experience) { e.Flags = []string{experience.FlagInjection} }
	for name, c := range map[string]struct {
		known, another experience.Experience
		want           bool
	}{
		"says more":                  {known, longer, true},
		"says less":                  {longer, known, false},
		"surer":                      {longer, with(known, func(e *experience.Experience) { e.Confidence = 0.9 }), true},
		"less sure":                  {known, with(longer, func(e *experience.Experience) { e.Confidence = 0.7 }), false},
		"a decision is about a text": {with(known, func(e *experience.Experience) { e.Status = experience.Approved }), longer, false},
		"a rejection is, too":        {with(known, func(e *experience.Experience) { e.Status = experience.Rejected }), longer, false},
		"a mark does not come in":    {known, with(longer, flagged), false},
		"a mark is there":            {with(known, flagged), longer, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, extract.Improves(c.another, c.known))
		})
	}
}

func FuzzSame(f *testing.F) {
	f.Add("Fix the build", "Clean the cache", "fix builds", "clean caches")
	f.Add("升级", "删除", "", "\xff")
	f.Fuzz(func(t *testing.T, taskA, resultA, taskB, resultB string) {
		a, b := of(taskA, "x", resultA), of(taskB, "x", resultB)
		require.True(t, extract.Same(a, a))
		require.Equal(t, extract.Same(a, b), extract.Same(b, a))
	})
}

func BenchmarkSame(b *testing.B) {
	x, y := of("Fix the failing build after an upgrade", "go", "Clean the module cache, then build again"), of("Fixed the failing builds after upgrades", "go", "Cleaned the module cache, then built again")
	b.ReportAllocs()
	for b.Loop() {
		extract.Same(x, y)
	}
}
