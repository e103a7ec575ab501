package redact

import "bytes"

// paths finds the names of users in paths of their home directories (contract
// §12): the name behind /Users/, /home/ and \Users\ is replaced, the rest of the
// path stays. Separators may be escaped (C:\\Users\\name, \/home\/name) or
// %2F. A name ends at white space unless a backslash stands before the space, or
// on Windows when a backslash follows.
//
// The path must be absolute: it begins there, or with a mount point as /mnt/c,
// /Volumes/disk, /var. So src/home/index.ts and https://host/home/page stay, and
// so do the directories themselves, those that belong to nobody (Shared, Public,
// Default, linuxbrew) and placeholders ($USER, <name>, {id}, *).
func (w *work) paths() {
	w.home("home", false)
	w.home("Users", false)
	w.home("sers", true)
}

// home finds the names behind a directory of homes. With windows, dir lacks its
// first letter, which may be small.
func (w *work) home(dir string, windows bool) {
	t := w.t
	for i := 0; i < len(t); i++ {
		n := bytes.Index(t[i:], []byte(dir))
		if n < 0 {
			return
		}
		i += n
		start, end := i, i+len(dir)
		if windows {
			if start == 0 || t[start-1]|0x20 != 'u' {
				continue
			}
			start--
		}
		before := separator(t, start, -1)
		after := separator(t, end, +1)
		if before == start || after == end {
			continue
		}
		drive := windows && (hasBackslash(t[before:start]) || before >= 2 && t[before-1] == ':' && is(t, before-2, upper|lower))
		if windows && !drive || !windows && !drive && !isRoot(t, before, dir) {
			continue
		}
		nameEnd := userEnd(t, after, hasBackslash(t[end:after]))
		if nameEnd > after && !nobody[string(bytes.ToLower(t[after:min(nameEnd, after+16)]))] {
			w.add(after, nameEnd, userName)
		}
	}
}

// separator returns where the separator of a path ends that begins at t[i], in
// the direction of step: / or \, each perhaps escaped, or %2F. It returns i
// without a separator.
func separator(t []byte, i, step int) int {
	if step > 0 {
		if hasFold(t[i:], "%2f") {
			return i + 3
		}
		for n := 0; n < 4 && isByte(t, i, '\\'); n++ {
			i++
		}
		for n := 0; n < 2 && isByte(t, i, '/'); n++ {
			i++
		}
		return i
	}
	if i >= 3 && hasFold(t[i-3:], "%2f") {
		return i - 3
	}
	if isByte(t, i-1, '/') {
		i--
	}
	for n := 0; n < 4 && isByte(t, i-1, '\\'); n++ {
		i--
	}
	return i
}

func hasBackslash(t []byte) bool {
	return bytes.IndexByte(t, '\\') >= 0 && bytes.IndexByte(t, '/') < 0
}

// isRoot reports whether the directory of homes whose separator is at t[i] is
// that of a machine, not one of a project or a site.
func isRoot(t []byte, i int, dir string) bool {
	if isByte(t, i, '\\') && !isByte(t, i+1, '/') {
		return true // \\wsl$\Debian\home
	}
	if !is(t, i-1, alnum|wordByte) && !isByte(t, i-1, ')') && !isByte(t, i-1, '}') && !isByte(t, i-1, '/') && !isByte(t, i-1, '~') {
		return true
	}
	if isByte(t, i-1, '/') { // file:///home
		return i >= 3 && (t[i-2] == '/' && t[i-3] == ':' || hasSuffixFold(t[:i], "file:/"))
	}
	// What stands in front of it, up to the root.
	start := i
	for start > 0 && start > i-64 && (is(t, start-1, wordByte) || t[start-1] == '/') {
		start--
	}
	if isByte(t, start-1, '\\') && (t[start] == 'n' || t[start] == 'r' || t[start] == 't') {
		start++ // an escaped end of line
	}
	mount := t[start:i]
	if len(mount) == 0 && isByte(t, start-2, '\\') {
		return true
	}
	if len(mount) == 0 || mount[0] != '/' {
		return false
	}
	if isByte(t, start-1, ':') && bytes.HasPrefix(mount, []byte("//")) { // a URL
		return is(t, start-2, upper|lower) && !hasSuffixFold(t[:start-1], "http") && !hasSuffixFold(t[:start-1], "https")
	}
	if dir == "Users" || len(mount) == 2 {
		return true
	}
	for _, known := range []string{"/mnt", "/media", "/Volumes", "/System", "/var", "/export", "/srv", "/usr", "/host", "/rootfs", "/nfs", "/net", "/private", "/data", "/proc", "/run", "/vol", "/storage", "//localhost"} {
		if bytes.HasPrefix(mount, []byte(known)) && (len(mount) == len(known) || mount[len(known)] == '/' || known == "/vol" || known == "/data" || known == "/host") {
			return true
		}
	}
	return false
}

func hasSuffixFold(t []byte, suffix string) bool {
	return len(t) >= len(suffix) && hasFold(t[len(t)-len(suffix):], suffix)
}

// userEnd returns where the name of a user ends that begins at t[i], or i
// without a name.
func userEnd(t []byte, i int, windows bool) int {
	start := i
	if !is(t, i, alnum|wide) && !isByte(t, i, '_') && !isByte(t, i, letter) && !isByte(t, i, '.') {
		return start // a placeholder
	}
	east := is(t, i, wide)
	words := 0
	for i < len(t) {
		switch c := t[i]; {
		case is(t, i, alnum) || c == letter || c == '_' || c == '-' || c == '.' || c == '+' || c == '@' || c == '~' || c == '%' && !hasFold(t[i:], "%2f"):
		case is(t, i, wide) && (east || windows):
		case c == '\'' && is(t, i+1, alnum) && is(t, i-1, upper|lower):
		case c == '\\' && isByte(t, i+1, ' ') && !windows:
			i++
		case c == ' ' && windows && words < 3 && moreOfName(t, i+1):
			words++
		default:
			return trimName(t, start, i)
		}
		i++
	}
	return trimName(t, start, i)
}

// moreOfName reports whether t[i:] goes on to a backslash as a name of more than
// one word does.
func moreOfName(t []byte, i int) bool {
	for end := min(len(t), i+48); i < end; i++ {
		switch {
		case t[i] == '\\':
			return is(t, i-1, alnum|wide) || t[i-1] == letter || t[i-1] == '.' || t[i-1] == ')'
		case !is(t, i, alnum|wide) && t[i] != letter && t[i] != ' ' && t[i] != '.' && t[i] != '-' && t[i] != '_':
			return false
		}
	}
	return false
}

// trimName takes the end of a sentence off a name.
func trimName(t []byte, start, end int) int {
	for end > start && (t[end-1] == '.' || t[end-1] == '-' || t[end-1] == '@') {
		end--
	}
	return end
}

// nobody are directories beside homes that are nobody's.
var nobody = map[string]bool{
	"shared": true, "public": true, "default": true, "default user": true, "all users": true,
	"linuxbrew": true, "lost+found": true, ".localized": true, "guest": true,
}
