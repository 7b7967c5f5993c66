// Package browser looks at the web console with a real browser: Chromium, led by scripts for Node.js. What the scripts say is wrong fails the test.
//
// The short form, which `make test` runs, signs in, follows a channel, and answers what an agent of the Go SDK asks, with each engine. `make
// test-console` looks at every page, and at what pages show after a click: in both colour schemes, on a wide screen and on a narrow one, with
// axe-core. It also does what a person does there by the keyboard, with their own messages, with sessions and links, and so that they are told of
// questions while they do not look. And it tries what a console must survive, with each engine: a flood of messages, a server that is killed,
// answers that get lost, undone and hurried redrives, two people who claim at once, and words that were written to break a page. At last a page of
// another origin tries whatever a browser allows against somebody who is signed in.
//
// To plant a fault in the console's sources, build them into a folder (`scripts/generate-console.sh --into FOLDER`) and name the folder in
// OPENINTENT_TEST_PAGES: the scripts then look at those pages. tools/faults does that with the faults of its list (`make faults
// ROOMS=console-pages`).
package browser
