// What a page of another origin can try against the console in whose browser it is open. Each attempt runs within that page, knows all addresses
// and ids, and returns what the page has learnt. What a browser forbids is an answer, too: its name stands in the place of what was learnt.

/** calls are what the attempts call: method, path, and a body that would do something. Whatever ends the session comes by itself. */
export function callsOn({ channel, message, person, key }) {
  const room = `/v1/channels/${channel}`;
  return [
    ["GET", "/v1/whoami"],
    ["GET", "/console/session"],
    ["GET", "/console/ways"],
    ["GET", `/v1/agents/${person}/inbox`],
    ["GET", `${room}/messages`],
    ["GET", "/v1/concerns"],
    ["POST", "/v1/intents", { title: "forged" }],
    ["POST", `${room}/messages`, { payload: { text: "forged" } }],
    ["POST", `${room}/messages/${message}/reply`, { payload: { text: "forged" } }],
    ["POST", `${room}/messages/${message}/claim`, { ttl_seconds: 600 }],
    ["POST", `${room}/invites`, {}],
    ["POST", `/v1/agents/${person}/inbox/read`, { message_ids: [message] }],
    ["PUT", `${room}/messages/${message}/reactions/declined`, { note: "forged" }],
    ["PATCH", room, { status: "closed" }],
    ["POST", "/v1/keys", { label: "forged", agents: ["mallory"] }],
    ["POST", "/console/session", { api_key: key, agent_id: "mallory" }],
    ["POST", "/console/invite", { invite: "oi_forged" }],
    ["POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
  ];
}

/** attempts run in the page, each by itself, and get where the console is, the calls and the ids. */
export const attempts = { forms, fetches, ending, subresources, streams, sockets, beacons, worker };

// forms sends every call that a form can make, with every encoding that it has, into a frame and into a window.
async function forms({ target, calls }) {
  const learnt = [];
  const send = async (method, path, body, encoding, into) => {
    const form = document.createElement("form");
    Object.assign(form, { method, action: target + path, enctype: encoding, target: into });
    const field = (name, value) => {
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name, value });
      form.append(input);
    };
    if (encoding === "text/plain" && body) {
      const text = JSON.stringify(body);
      const end = text.lastIndexOf('"');
      field(text.slice(0, end), text.slice(end)); // with the = that stands between them, they are JSON
    } else {
      Object.entries(body ?? {}).forEach(([name, value]) => field(name, typeof value === "string" ? value : JSON.stringify(value)));
    }
    document.body.append(form);
    form.submit();
    form.remove();
  };
  for (const [method, path, body] of calls.filter(([method]) => method === "GET" || method === "POST")) {
    const encodings = method === "GET" ? ["application/x-www-form-urlencoded"] : ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    for (const encoding of encodings) {
      const frame = document.createElement("iframe");
      frame.name = `frame-${learnt.length}`;
      document.body.append(frame);
      const loaded = new Promise((done) => frame.addEventListener("load", done));
      await send(method, path, body, encoding, frame.name);
      await loaded;
      let seen;
      try {
        seen = frame.contentDocument?.body?.innerText ?? "nothing";
        void frame.contentWindow.location.href;
      } catch (refused) {
        seen = refused.name;
      }
      learnt.push([method, path, encoding, seen, frame.contentWindow.length]);
      frame.remove();
    }
  }
  return learnt;
}

// fetches makes every call with a script, in every mode that sends cookies, with and without the header that the console's page sends.
async function fetches({ target, calls }) {
  const learnt = [];
  for (const [method, path, body] of calls) {
    for (const mode of ["cors", "no-cors"]) {
      for (const headers of [{}, { "Content-Type": "text/plain" }, { "Content-Type": "application/json" }, { "X-OpenIntent-Console": "sign-in" }]) {
        const options = { method, mode, headers, credentials: "include", ...(body && { body: JSON.stringify(body) }) };
        try {
          const answer = await fetch(target + path, options);
          learnt.push([method, path, mode, Object.keys(headers).join(), answer.type, answer.status, (await answer.text()).slice(0, 300)]);
        } catch (refused) {
          learnt.push([method, path, mode, Object.keys(headers).join(), refused.name]);
        }
      }
    }
  }
  return learnt;
}

// ending tries to sign the reader out.
async function ending({ target }) {
  const learnt = [];
  for (const mode of ["cors", "no-cors"]) {
    learnt.push(await fetch(`${target}/console/session`, { method: "DELETE", mode, credentials: "include" }).then((answer) => answer.type, (refused) => refused.name));
  }
  return learnt;
}

// subresources loads answers as scripts, pictures, styles, sounds and modules.
async function subresources({ target, calls }) {
  const before = new Set(Object.keys(window));
  const learnt = [];
  const load = (element, address) =>
    new Promise((done) => {
      for (const end of ["load", "loadeddata", "error"]) {
        element.addEventListener(end, () => done(end));
      }
      element[element.localName === "link" ? "href" : "src"] = address;
      document.body.append(element);
    });
  const kinds = [["script"], ["script", { type: "module", crossOrigin: "use-credentials" }], ["img"], ["link", { rel: "stylesheet" }], ["audio"], ["video"]];
  for (const [, path] of calls.filter(([method]) => method === "GET")) {
    for (const [name, more] of kinds) {
      const element = Object.assign(document.createElement(name), more);
      learnt.push([path, name, await load(element, target + path), element.naturalWidth ?? 0, String(element.sheet)]);
      element.remove();
    }
  }
  return [...learnt, ...Object.keys(window).filter((name) => !before.has(name))];
}

// streams opens event streams.
async function streams({ target, channel, person }) {
  const learnt = [];
  for (const path of [`/v1/subscribe/agents/${person}`, `/v1/subscribe/channels/${channel}`]) {
    for (const withCredentials of [true, false]) {
      const stream = new EventSource(target + path, { withCredentials });
      learnt.push(
        await new Promise((done) => {
          stream.onopen = () => done("open");
          stream.onmessage = (event) => done(event.data);
          stream.onerror = () => done("error");
        }),
      );
      stream.close();
    }
  }
  return learnt;
}

// sockets opens WebSockets, where the server has any and where it has none.
async function sockets({ target, channel }) {
  const learnt = [];
  for (const path of ["/c2a", "/mcp", "/agent-channel", `/v1/subscribe/channels/${channel}`, "/console"]) {
    const socket = new WebSocket(target.replace("http", "ws") + path);
    learnt.push(
      await new Promise((done) => {
        socket.onopen = () => done("open");
        socket.onmessage = (event) => done(event.data);
        socket.onerror = () => done("error");
      }),
    );
    socket.close();
  }
  return learnt;
}

// beacons sends what outlives the page.
async function beacons({ target, calls }) {
  const learnt = [];
  for (const [, path, body] of calls.filter(([method]) => method === "POST")) {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"]) {
      try {
        learnt.push([path, type, navigator.sendBeacon(target + path, new Blob([JSON.stringify(body)], { type }))]);
      } catch (refused) {
        learnt.push([path, type, refused.name]);
      }
    }
  }
  return learnt;
}

// worker lets a service worker call in the background, and tries to put one before the console.
async function worker({ target, calls }) {
  if (!("serviceWorker" in navigator)) {
    return ["none"];
  }
  const learnt = [];
  const register = async (...arguments_) => navigator.serviceWorker.register(...arguments_); // without an origin, the first of these words throws
  for (const given of [[`${target}/console/worker.js`], ["/worker.js", { scope: `${target}/console/` }], [`${target}/v1/whoami`]]) {
    learnt.push(await register(...given).then(() => "registered", (refused) => refused.name));
  }
  try {
    const registration = await register("/worker.js");
    await navigator.serviceWorker.ready;
    const told = new Promise((done) => navigator.serviceWorker.addEventListener("message", (event) => done(event.data)));
    registration.active.postMessage({ target, calls });
    learnt.push(...(await told));
    await registration.unregister();
  } catch (refused) {
    learnt.push(refused.name);
  }
  return learnt;
}

/** workerSource is the service worker of the other origin. */
export const workerSource = `
const calling = ${fetches};
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("message", (event) => event.waitUntil(calling(event.data).then((learnt) => event.source.postMessage(learnt))));
`;
