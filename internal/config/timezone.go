package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ianaZone reads the name of a zone. It finds zones of the machine; a program
// that is to run without a zone database imports time/tzdata.
func ianaZone(text string) (Zone, error) {
	location, err := time.LoadLocation(text)
	if err != nil || text == "Local" {
		return Zone{}, errors.New("must be an IANA time zone such as Asia/Taipei or UTC")
	}
	return Zone{Name: text, Location: location}, nil
}

// machineZone is the zone of the machine under its IANA name: what TZ says,
// else where etc/localtime under root points to, else what etc/timezone says,
// else UTC.
func machineZone(root string) Zone {
	if tz, ok := os.LookupEnv("TZ"); ok {
		if zone, err := ianaZone(zoneName(strings.TrimPrefix(tz, ":"))); err == nil {
			return zone
		}
		return Zone{Name: "UTC", Location: time.UTC}
	}
	// The first link has the name that the administrator chose; where a chain
	// of links ends may be an older name of the zone.
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

// zoneName is the zone that a file of a zone database holds; "" is UTC, as it
// is for TZ.
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
