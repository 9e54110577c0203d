/** Two viewers of one folder, each a process of its own, to which labels are sent at the same moment: all of them must be there. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RunDirectory } from '../../src/run/directory.ts';
import { readRollouts } from '../../src/run/read.ts';
import { gqProgram } from '../gq-command.ts';

const token = 'of-both';

export interface ViewerProcess {
  readonly child: ChildProcess;
  readonly origin: string;
}

/** `preload`: a module that the process loads first. */
export async function startViewer(folder: string, preload?: string): Promise<ViewerProcess> {
  const first = preload === undefined ? [] : ['--import', preload];
  const child = spawn(process.execPath, [...first, gqProgram(), 'view', folder, '--port', '0'], {
    env: { ...process.env, GQ_VIEW_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line]: Buffer[] = await once(child.stdout ?? child, 'data');
  return { child, origin: new URL(`${line}`.trim()).origin };
}

export function askViewer({ origin }: ViewerProcess, path: string, body?: object): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, Origin: origin, 'Content-Type': 'application/json' };
  return fetch(`${origin}/api/${path}`, {
    headers,
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
}

/** Sends `labels` labels to each of two viewers of the folder of a run; returns those that are lost or twice, and answers that were errors. */
export async function labelFromTwo(run: string, labels: number): Promise<string[]> {
  const rollouts: string[] = [];
  for await (const { id } of readRollouts(RunDirectory.open(run))) rollouts.push(id);
  const viewers = await Promise.all([startViewer(run), startViewer(run)]);
  const surprises: string[] = [];
  try {
    const id = encodeURIComponent(run.slice(run.lastIndexOf('/') + 1));
    const writers = viewers.flatMap((viewer, v) =>
      Array.from({ length: labels }, (_, i) => ({ viewer, writer: `${v} ${i}` })),
    );
    const sent = writers.map(async ({ viewer, writer }, i) => {
      const label = { rollout: rollouts[i % rollouts.length], label: 'hack', writer, blind: true };
      const response = await askViewer(viewer, `labels?id=${id}`, label);
      if (response.status !== 200) surprises.push(`${writer}: ${response.status} ${await response.text()}`);
    });
    await Promise.all(sent);
    const lines = readFileSync(join(run, 'human-labels.jsonl'), 'utf8').trimEnd().split('\n');
    const stored = lines.map((line) => (JSON.parse(line) as { writer: string }).writer);
    for (const { writer } of writers) {
      const count = stored.filter((each) => each === writer).length;
      if (count !== 1) surprises.push(`the label of ${writer} is there ${count} times`);
    }
    return surprises;
  } finally {
    for (const { child } of viewers) child.kill();
  }
}
