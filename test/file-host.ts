/** A web server that knows nothing of the viewer: files of a folder, with byte ranges or without, and a count of what it sent. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';

export interface FileHost extends Disposable {
  readonly address: string;
  /** Name and number of bytes of everything that was sent, in order. */
  readonly sent: { readonly name: string; readonly bytes: number }[];
}

const types: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css' };

export async function serveFolder(folder: string, { ranges }: { readonly ranges: boolean }): Promise<FileHost> {
  const sent: { name: string; bytes: number }[] = [];
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://x').pathname);
    const name = path === '/' ? '/index.html' : path;
    readFile(join(folder, name)).then(
      (body) => {
        const wanted = ranges ? /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') : null;
        const part = wanted === null ? body : body.subarray(Number(wanted[1]), Number(wanted[2]) + 1);
        const type = { 'Content-Type': types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream' };
        sent.push({ name, bytes: part.length });
        if (wanted === null) response.writeHead(200, type).end(part);
        else {
          const range = `bytes ${wanted[1]}-${wanted[2]}/${body.length}`;
          response.writeHead(206, { ...type, 'Content-Range': range }).end(part);
        }
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    sent,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
