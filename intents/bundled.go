package intents

import (
	"embed"
	"io/fs"
	"sync"
)

//go:embed bundled/*.md bundled/*.examples.txt
var bundled embed.FS

// BundledFS holds the definitions that are built into the binary.
func BundledFS() fs.FS {
	sub, err := fs.Sub(bundled, "bundled")
	if err != nil {
		return bundled
	}
	return sub
}

// Bundled returns the catalogue of the definitions that are built into the
// binary. It is parsed once.
func Bundled() *Catalog { return bundledCatalog() }

var bundledCatalog = sync.OnceValue(func() *Catalog { return CatalogOf(bundledFiles()) })

var bundledFiles = sync.OnceValue(func() []File {
	files, _, _ := Load(BundledFS())
	return files
})
