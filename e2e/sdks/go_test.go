package sdks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/database/databasetest"
	"openintent/e2e/sdks"
	"openintent/e2e/sdks/scenarios"
)

// scenarioFiles is where the shared scenarios are.
const scenarioFiles = "../../sdk/scenarios"

func TestGoTellsTheScenarios(t *testing.T) {
	files, err := scenarios.Files(scenarioFiles)
	require.NoError(t, err)
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			stage := sdks.StartStage(t, engine)
			found := make(map[string]string)
			for _, setting := range stage.Environment() {
				name, value, _ := strings.Cut(setting, "=")
				found[name] = value
			}
			scenarios.Run(t, scenarios.Servers{
				Server: found["OPENINTENT_SERVER"], Replica: found["OPENINTENT_REPLICA"], Key: found["OPENINTENT_API_KEY"],
				Control: found["OPENINTENT_CONTROL"], Engine: found["OPENINTENT_ENGINE"],
			}, files)
		})
	}
}
