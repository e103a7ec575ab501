package hint

import (
	"slices"
	"strings"

	"intenthint/intents"
	"intenthint/payload"
	"intenthint/subjects"
)

// maxSkillsHeader bounds the names of skills in a reply, in bytes. With more of them
// gateways send all skills.
const maxSkillsHeader = 4096

// nameSkills adds the skills that prompts of the catalogue name to the diagnostics
// of a reply: a gateway sends no others (contract §7).
func nameSkills(header map[string][]string, c *intents.Catalog) map[string][]string {
	if names := strings.Join(c.Skills(), ", "); len(names) <= maxSkillsHeader {
		header[subjects.HeaderSkills] = []string{names}
	}
	return header
}

// lacksSkills reports whether the request may have left out a skill that a prompt
// of the catalogue names: the gateway picked its skills by the names of another
// catalogue.
func (t *turn) lacksSkills() bool {
	picked, ok := payload.DecodeSkillNames(t.req.Envelope.Ctx)
	return ok && slices.ContainsFunc(t.catalog.Skills(), func(name string) bool { return !slices.Contains(picked, name) })
}
