/**
 * A test kit for those who write agents: a server in the test, time that the test moves, and peers that follow a script. It works with any test
 * runner of Node.js.
 */
export { Peer, type Answer } from "./peers.js";
export { findProgram, ServerError } from "./program.js";
export type { Heard, Said, Wanted } from "./record.js";
export { play, type PlayOptions } from "./story.js";
export { loadStory, type Difference, type Report, type Story, type StoryHead, type StoryLine } from "./story-form.js";
export { Server, startServer, type ServerOptions, type TestContext } from "./server.js";
