import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server } from "node:net";

/** Begins to listen on this machine. Returns the address. */
export async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * An address that refuses connections. A connection of the test begins at it, so that nobody else can listen there. The port is bound
 * before it connects: the system lends a port that is only connected to other connections, and a client that got it could meet itself.
 */
export async function refusing(): Promise<{ server: string; close: () => void }> {
  const peer = createServer();
  const held = connect({ port: Number((await listening(peer)).split(":")[1]), host: "127.0.0.1", localAddress: "127.0.0.1" });
  await once(held, "connect");
  const close = (): void => {
    held.destroy();
    peer.close();
  };
  return { server: `127.0.0.1:${held.localPort}`, close };
}
