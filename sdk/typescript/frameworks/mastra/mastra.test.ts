import { holdsTheBar } from "../bar/bar.js";
import { exampleAnswers } from "../bar/example.js";

holdsTheBar(new URL("./agent.js", import.meta.url), { suspends: true });
exampleAnswers(new URL("./example.js", import.meta.url));
