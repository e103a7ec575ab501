// Package browser tests the console in a real browser: headless Chromium, driven
// over the DevTools protocol. The tests have the build tag "browser"; the browser
// is that of PATH, or of CHROMIUM.
package browser
