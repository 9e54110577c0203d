/** The grader in a worker, for programs that a reader writes: the interpreter at once, and once Python is loaded the judge of the sandbox for all others. */
import { messageOf } from '../../../base/index.ts';
import { PythonRunner, type PythonWorker } from '../../../browser/python/runner.ts';
import { InterpreterJudge } from '../../../env/interpreter/judge.ts';
import { SandboxJudge } from '../../../env/sandbox-judge.ts';
import type { FromGrader, ToGrader } from './messages.ts';

const say = (message: FromGrader): void => postMessage(message);
let judge = new InterpreterJudge();

async function fetchText(path: string): Promise<string> {
  const response = await fetch(new URL(path, location.href));
  if (!response.ok) throw new Error(`${path}: HTTP status ${response.status}`);
  return response.text();
}

function startWorker(): PythonWorker {
  const worker = new Worker('python.js', { type: 'module' });
  return {
    open: (asked) => worker.postMessage(asked),
    onMessage(hear) {
      worker.onmessage = ({ data }) => hear(data);
      worker.onerror = ({ message }) => hear({ kind: 'failed', message });
    },
    terminate: () => worker.terminate(),
  };
}

async function load(): Promise<void> {
  const names: readonly string[] = JSON.parse(await fetchText('python/files.json'));
  const files = await Promise.all(names.map(async (name) => [name, await fetchText(`python/${name}`)] as const));
  const pyodide = new URL('pyodide/', location.href).href;
  const runner = new PythonRunner(startWorker, { pyodide, harness: Object.fromEntries(files) });
  await runner.ready;
  judge = new InterpreterJudge({ otherwise: new SandboxJudge(runner) });
  say({ kind: 'loaded' });
}

async function hear(message: ToGrader): Promise<void> {
  if (message.kind === 'load') return load();
  const { submission } = message;
  const isInside = judge.facts(submission) !== null;
  if (!isInside && judge.otherwise === undefined) return say({ kind: 'outside' });
  say({ kind: 'verdict', verdict: await judge.judge(submission), by: isInside ? 'interpreter' : 'Python' });
}

addEventListener('message', ({ data }: MessageEvent<ToGrader>) => {
  hear(data).catch((error: unknown) => say({ kind: 'failed', message: messageOf(error) }));
});
