// The console's worker for pushes. It shows what the server pushes, and a click on that opens the console where the push says. It keeps no
// pages and answers no requests.

/** What a push says; nothing if it cannot be read. */
function said(event) {
  try {
    return event.data.json();
  } catch {
    return {};
  }
}

/** place is the address in this console that a link names; the first page for every other link, so that a push never leads elsewhere. */
function place(link) {
  const message = /\/console\/(messages\/[\w-]+)$/.exec(String(link ?? ""));
  return new URL(message ? message[1] : "../console", self.registration.scope).href;
}

function windows() {
  return self.clients.matchAll({ type: "window", includeUncontrolled: true });
}

self.addEventListener("push", (event) => {
  const { title, body, url, code } = said(event);
  event.waitUntil(
    (async () => {
      // A page that waits for the code takes it from here, so that nobody has to type it.
      if (typeof code === "string") {
        (await windows()).forEach((page) => page.postMessage({ code }));
      }
      await self.registration.showNotification(String(title ?? "Something waits for you"), {
        body: String(body ?? ""),
        icon: "icon.svg",
        tag: code === undefined ? String(url ?? "") : "code",
        data: { url },
      });
    })(),
  );
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const address = place(event.notification.data?.url);
  event.waitUntil(
    (async () => {
      const [page] = await windows();
      if (page === undefined) {
        await self.clients.openWindow(address);
        return;
      }
      page.postMessage({ open: address });
      // A browser may forbid a worker to bring a page to the front; the page has moved all the same.
      await page.focus().catch(() => undefined);
    })(),
  );
});
