package sdks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/sdks"
	"openintent/e2e/sdks/scenarios"
	"openintent/internal/database/databasetest"
)

// scenarioFiles is the folder of the shared scenarios.
const scenarioFiles = "../../sdk/scenarios"

func TestGoTellsTheScenarios(t *testing.T) {
	t.Parallel()
	files, err := scenarios.Files(scenarioFiles)
	require.NoError(t, err)
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			environment := sdks.StartStage(t, engine).Environment()
			scenarios.Run(t, scenarios.Servers{
				Server: setting(environment, "OPENINTENT_SERVER"), Replica: setting(environment, "OPENINTENT_REPLICA"),
				Key: setting(environment, "OPENINTENT_API_KEY"), Control: setting(environment, "OPENINTENT_CONTROL"),
				Engine: setting(environment, "OPENINTENT_ENGINE"),
			}, files)
		})
	}
}

// setting returns the value of a variable; the last one in the list counts.
func setting(environment []string, name string) (value string) {
	for _, entry := range environment {
		if found, ok := strings.CutPrefix(entry, name+"="); ok {
			value = found
		}
	}
	return value
}
