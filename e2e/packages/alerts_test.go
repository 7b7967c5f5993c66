package packages

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Each alert leads to a section of the operators' page that says what to do, step by step, and each section is an alert's.
func TestEachAlertLeadsToWhatToDo(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/prometheus/alerts.yaml")), &file))
	_, red, found := strings.Cut(read(t, "docs/operators-day.md"), "\n## When something is red\n")
	require.True(t, found)
	red, _, _ = strings.Cut(red, "\n## ")
	sections := make(map[string]string)
	for _, section := range strings.Split(red, "\n### ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		sections[heading] = text
	}
	step := regexp.MustCompile(`(?m)^1\. `)
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			// A heading of one word in letters has its own name in small letters as its anchor.
			require.Equal(t, "docs/operators-day.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"], rule.Alert)
			require.Regexp(t, step, sections[rule.Alert], "%s has a section with steps", rule.Alert)
			delete(sections, rule.Alert)
		}
	}
	require.Empty(t, sections, "sections of alerts that there are not")
}
