import { createServer } from 'node:net';

export const HOST = '127.0.0.1';

/** `first`, or the next port after it that nobody listens on. Throws where fifty in a row are taken. */
export async function findFreePort(first: number): Promise<number> {
  const last = Math.min(first + 50, 65_535);
  for (let port = first; port <= last; port++) {
    if ((await tryPort(port)) !== null) return port;
  }
  throw new Error(`The ports ${first} to ${last} are all in use.`);
}

/** A port that the system chooses. */
export async function findAnyPort(): Promise<number> {
  const port = await tryPort(0);
  if (port === null) throw new Error('The system has no free port.');
  return port;
}

/** The port, closed again; null where it is taken. */
export function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null);
      else reject(error);
    });
    server.listen({ port, host: HOST, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
