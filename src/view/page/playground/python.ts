/** A worker that is one process of Python. */
import { messageOf } from '../../../base/index.ts';
import type { FromPython, OpenPython } from '../../../browser/python/messages.ts';
import { servePython } from '../../../browser/python/process.ts';

const say = (message: FromPython): void => postMessage(message);

addEventListener(
  'message',
  ({ data }: MessageEvent<OpenPython>) => {
    servePython(data, say).catch((error: unknown) => say({ kind: 'failed', message: messageOf(error) }));
  },
  { once: true },
);
