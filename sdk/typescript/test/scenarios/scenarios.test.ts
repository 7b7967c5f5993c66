import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Play } from "./play.js";
import { lacks, loadScenarios, type ScenarioFile } from "./scenario.js";
import { Stage, type Face } from "./stage.js";

// The scenarios of all languages, played over both transports. Agents always run over gRPC.

const folder = fileURLToPath(new URL("../../../../scenarios", import.meta.url));
const stage = new Stage();
const scenarios = loadScenarios(folder).filter(({ engines }) => engines === undefined || engines.includes(stage.engine));

/** Over REST there is one address, and no client changes it. */
const tellable = (scenario: ScenarioFile, face: Face): boolean => {
  const lacking = lacks(scenario, face);
  if (lacking !== undefined) {
    console.log(`left out, because this SDK has no ${lacking} over ${face}: ${scenario.name}`);
    return false;
  }
  return face === "grpc" || !scenario.steps.some((step) => step.do === "use_replica" || step.do === "move");
};

const faces: Face[] = ["grpc", "rest"];
const timeout = 120_000;

describe("scenarios", { concurrency: 8 }, () => {
  for (const face of faces) {
    for (const scenario of scenarios.filter((scenario) => !scenario.disturbs && tellable(scenario, face))) {
      test(`${face}: ${scenario.name}`, { timeout }, () => Play.through(stage, face, scenario));
    }
  }
});

describe("scenarios that disturb servers", { concurrency: 1 }, () => {
  for (const face of faces) {
    for (const scenario of scenarios.filter((scenario) => scenario.disturbs && tellable(scenario, face))) {
      test(`${face}: ${scenario.name}`, { timeout }, () => Play.through(stage, face, scenario));
    }
  }
});
