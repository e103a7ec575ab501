package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ianaZone reads the name of a zone. It uses the machine's zone database; a
// program that must run without one imports time/tzdata.
func ianaZone(text string) (Zone, error) {
	location, err := time.LoadLocation(text)
	if err != nil || text == "Local" {
		return Zone{}, errors.New("must be an IANA time zone such as Asia/Taipei or UTC")
	}
	return Zone{Name: text, Location: location}, nil
}

// machineZone returns the zone of the machine under its IANA name: from TZ,
// else from the target of etc/localtime under root, else from etc/timezone,
// else UTC.
func machineZone(root string) Zone {
	if tz, ok := os.LookupEnv("TZ"); ok {
		if zone, err := ianaZone(zoneName(strings.TrimPrefix(tz, ":"))); err == nil {
			return zone
		}
		return Zone{Name: "UTC", Location: time.UTC}
	}
	// The first link has the name that the administrator chose; the end of a chain
	// of links may be an older name of the zone.
	link := filepath.Join(root, "etc/localtime")
	for _, resolve := range []func(string) (string, error){os.Readlink, filepath.EvalSymlinks} {
		if target, err := resolve(link); err == nil {
			if zone, err := ianaZone(zoneName(target)); err == nil {
				return zone
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "etc/timezone")); err == nil {
		if zone, err := ianaZone(strings.TrimSpace(string(text))); err == nil && zone.Name != "" {
			return zone
		}
	}
	return Zone{Name: "UTC", Location: time.UTC}
}

// zoneName returns the zone of a file of a zone database; "" means UTC, as for
// TZ.
func zoneName(path string) string {
	_, name, ok := strings.Cut(path, "zoneinfo/")
	if !ok {
		name = path
	}
	for _, variant := range []string{"posix/", "right/"} {
		name = strings.TrimPrefix(name, variant)
	}
	if name == "" {
		return "UTC"
	}
	return name
}
