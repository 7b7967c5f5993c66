// Stands in for what the console cannot have in a test: a service that brings pushes to browsers, and an address to which the server posts.
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";

/** standIn is a server on this machine that keeps what is posted to it. */
export async function standIn() {
  const posts = [];
  const waiting = [];
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) {
      pieces.push(piece);
    }
    const post = { path: request.url, body: Buffer.concat(pieces) };
    response.writeHead(201).end();
    const next = waiting.shift();
    next ? next(post) : posts.push(post);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    /** next is the next post, once it has come. */
    next: () => (posts.length > 0 ? Promise.resolve(posts.shift()) : new Promise((resolve) => waiting.push(resolve))),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** PushService subscribes a browser at an endpoint, reads what the server sends there, and delivers it. */
export class PushService {
  constructor(endpoint) {
    this.endpoint = endpoint;
    this.keys = createECDH("prime256v1");
    this.keys.generateKeys();
    this.auth = randomBytes(16);
  }

  /** inBrowser is a script after which the browser subscribes here. */
  inBrowser() {
    const subscription = { endpoint: this.endpoint, keys: { p256dh: this.keys.getPublicKey("base64url"), auth: this.auth.toString("base64url") } };
    return `{
      const kept = "subscribed";
      const made = { options: { applicationServerKey: null }, toJSON: () => (${JSON.stringify(subscription)}), unsubscribe: async () => { localStorage.removeItem(kept); return true; } };
      PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
        if (!userVisibleOnly || !/^[\\w-]{87}$/.test(applicationServerKey)) {
          throw new TypeError("no key");
        }
        localStorage.setItem(kept, "yes");
        return made;
      };
      PushManager.prototype.getSubscription = async () => (localStorage.getItem(kept) === null ? null : made);
    }`;
  }

  /** read decrypts what the server has sent, as RFC 8291 and RFC 8188 say. */
  read(body) {
    const salt = body.subarray(0, 16);
    const sender = body.subarray(21, 21 + body[20]);
    const rest = body.subarray(21 + body[20]);
    const derive = (secret, salt, info, length) => Buffer.from(hkdfSync("sha256", secret, salt, info, length));
    const info = Buffer.concat([Buffer.from("WebPush: info\0"), this.keys.getPublicKey(), sender]);
    const secret = derive(this.keys.computeSecret(sender), this.auth, info, 32);
    const decipher = createDecipheriv("aes-128-gcm", derive(secret, salt, "Content-Encoding: aes128gcm\0", 16), derive(secret, salt, "Content-Encoding: nonce\0", 12));
    decipher.setAuthTag(rest.subarray(-16));
    const plain = Buffer.concat([decipher.update(rest.subarray(0, -16)), decipher.final()]);
    return plain.subarray(0, plain.lastIndexOf(2)).toString();
  }

  /** deliver brings a push to the browser's worker, as the browser's maker would. */
  async deliver(page, worker, data) {
    const session = await page.context().newCDPSession(page);
    const registered = new Promise((resolve) =>
      session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
        const own = registrations.find(({ scopeURL, isDeleted }) => !isDeleted && worker.url().startsWith(scopeURL));
        if (own) {
          resolve(own.registrationId);
        }
      }),
    );
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.deliverPushMessage", { origin: new URL(worker.url()).origin, registrationId: await registered, data });
    await session.detach();
  }
}
