import { getPushKey, type Push } from "../client/contacts.ts";
import { base64url } from "../text/base64.ts";

// Pushes to this browser. A small worker shows them, also while no page of the console is open.

/** PushRefused says in a sentence why this browser takes no pushes. */
export class PushRefused extends Error {}

/** The address of the worker, which is the one script that the page may start so. */
const script = new URL("push.js", document.baseURI).href;

interface Policies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** worker is the script's address as a browser takes it whose policy asks for trusted types. */
function worker(): string {
  const policies = (window as Window & { trustedTypes?: Policies }).trustedTypes;
  trusted ??= policies?.createPolicy("openintent-push", { createScriptURL: () => script });
  return trusted?.createScriptURL(script) ?? script;
}
let trusted: ReturnType<Policies["createPolicy"]> | undefined;

/** subscribe asks the person for permission, and the browser for a subscription to this server's pushes. It fails with PushRefused. */
export async function subscribe(): Promise<Push> {
  if (!canPush()) {
    throw new PushRefused(
      window.isSecureContext
        ? "This browser takes no pushes. Choose another way, or another browser."
        : "Browsers take pushes only from pages that came by HTTPS, or from this machine itself. Choose another way.",
    );
  }
  if ((await Notification.requestPermission()) !== "granted") {
    throw new PushRefused("This browser does not let the console notify you. Allow notifications in the browser's settings for this site, and try again.");
  }
  const key = await getPushKey();
  try {
    const { pushManager } = await started(await navigator.serviceWorker.register(worker()));
    const before = await pushManager.getSubscription();
    if (before !== null && isFor(before, key)) {
      return pushOf(before);
    }
    // One that was made for another key would never bring anything.
    await before?.unsubscribe();
    return pushOf(await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  } catch (failure) {
    throw new PushRefused(`This browser did not subscribe to pushes: ${failure instanceof Error ? failure.message : "it does not say why"}. Choose another way, or another browser.`);
  }
}

/** present is the subscription that this browser has, if it has one. */
export async function present(): Promise<Push | undefined> {
  const subscription = canPush() ? await (await registered())?.pushManager.getSubscription() : undefined;
  return subscription ? pushOf(subscription) : undefined;
}

/** listenToWorker calls back for what the worker says to the page: a code that has come, or the address that a click asks for. */
export function listenToWorker(take: (said: { code?: string; open?: string }) => void): () => void {
  const heard = (event: MessageEvent) => take(event.data as { code?: string; open?: string });
  if (!("serviceWorker" in navigator)) {
    return () => {};
  }
  navigator.serviceWorker.addEventListener("message", heard);
  navigator.serviceWorker.startMessages();
  return () => navigator.serviceWorker.removeEventListener("message", heard);
}

function isFor(subscription: PushSubscription, key: string): boolean {
  const made = subscription.options.applicationServerKey;
  return made !== null && base64url(made) === key;
}

function canPush(): boolean {
  return "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
}

function registered(): Promise<ServiceWorkerRegistration | undefined> {
  return navigator.serviceWorker.getRegistration(new URL(".", script).href);
}

/** started waits until the worker runs, because only then a browser subscribes. */
async function started(registration: ServiceWorkerRegistration): Promise<ServiceWorkerRegistration> {
  const coming = registration.installing ?? registration.waiting;
  if (registration.active === null && coming) {
    await new Promise<void>((resolve) => {
      const look = () => coming.state === "activated" && resolve();
      coming.addEventListener("statechange", look);
      look();
    });
  }
  return registration;
}

function pushOf(subscription: PushSubscription): Push {
  const { endpoint = "", keys = {} } = subscription.toJSON();
  return { endpoint, p256dh: keys["p256dh"] ?? "", auth: keys["auth"] ?? "" };
}
