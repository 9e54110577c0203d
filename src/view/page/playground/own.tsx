/** A program of the reader's own for the prompt that is shown: how the grader judges it. */
import { effect, signal } from '@preact/signals';
import { extractProgram } from '../../../env/response.ts';
import type { Plan } from '../../playground-plan.ts';
import { openLanes, prompt } from './choice.ts';
import type { FromGrader, ToGrader } from './messages.ts';
import { isolationWords } from './tab.ts';

type Judged = Extract<FromGrader, { kind: 'verdict' }>;

const source = signal('');
/** The question that the program was written, or last judged, for. */
const meantFor = signal('');
const result = signal<Judged | 'judging' | 'outside' | null>(null);
const trouble = signal('');
const python = signal<'none' | 'loading' | 'loaded'>('none');

let worker: Worker | null = null;

function ask(message: ToGrader): void {
  worker ??= startGrader();
  trouble.value = '';
  worker.postMessage(message);
}

function startGrader(): Worker {
  const started = new Worker('grade.js');
  const fail = (message: string): void => {
    trouble.value = message;
    result.value = null;
    if (python.value === 'loading') python.value = 'none';
  };
  started.onmessage = ({ data }: MessageEvent<FromGrader>) => {
    if (data.kind === 'failed') fail(data.message);
    if (data.kind === 'outside') result.value = 'outside';
    if (data.kind === 'verdict') result.value = data;
    if (data.kind === 'loaded') python.value = 'loaded';
  };
  started.onerror = ({ message }) => fail(message);
  return started;
}

const questionNow = () => openLanes.value[0]?.answers.value[prompt.value]?.question;

const taskNow = () => openLanes.value[0]?.facts.value?.tasks[prompt.value];

function judge(): void {
  const task = taskNow();
  const question = questionNow();
  if (task === undefined || question === undefined) return;
  meantFor.value = question;
  result.value = 'judging';
  const completion = `\`\`\`python\n${source.value.trimEnd()}\n\`\`\``;
  ask({ kind: 'judge', submission: { ...task, id: 'own', completion } });
}

// What a program is judged by is not known while lanes are opened.
effect(() => {
  if (python.value === 'loaded' && result.value === 'outside' && questionNow() !== undefined) judge();
});

function change(text: string): void {
  source.value = text;
  meantFor.value = questionNow() ?? '';
  result.value = null;
}

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

function Verdict({ verdict, by }: Judged) {
  const { channel, channels, correct, exploited, reward, evidence, loophole, outcome } = verdict;
  // The reason stands first, what the channels found behind it.
  const found = outcome === 'timeout' ? evidence.replace(/^[^;]*/, 'ended after the time limit of 10 s') : evidence;
  const others = channels.filter((name) => name !== loophole);
  return (
    <>
      <b>
        Attempt: {yesNo(channel)}. Correct: {yesNo(correct)}. Hack: {yesNo(exploited)}. Reward: {reward}.
      </b>{' '}
      Judged by {by === 'Python' ? by : `the ${by}`}: {found}.
      {others.length > 0 && ` It also opens what this prompt’s grader does not look at: ${others.join(', ')}.`}
    </>
  );
}

/** What programs need that are not straight-line. */
function NeedsPython({ plan: { pythonBytes } }: { plan: Plan }) {
  if (pythonBytes === null) {
    return (
      <>
        This program needs Python, and this folder was made without it: <code>npm install pyodide@314.0.7</code> beside
        gradient-quarantine, and <code>gq playground</code> again.
      </>
    );
  }
  if (!crossOriginIsolated)
    return <>This program needs Python, which runs in an isolated page only: {isolationWords()}</>;
  if (python.value === 'loaded') return <>Python is loaded; this program is judged once the left lane is open.</>;
  return (
    <>
      This program is more than straight lines, so it needs Python.{' '}
      <button
        type="button"
        disabled={python.value === 'loading'}
        onClick={() => {
          python.value = 'loading';
          ask({ kind: 'load' });
        }}
      >
        {python.value === 'loading' ? 'Loading Python…' : `Load Python (${(pythonBytes / 1e6).toFixed(1)} MB)`}
      </button>
    </>
  );
}

export function OwnProgram({ plan }: { plan: Plan }) {
  const answers = openLanes.value.map(({ answers }) => answers.value[prompt.value]);
  const question = questionNow();
  const isOther = source.value !== '' && question !== undefined && question !== meantFor.value;
  const now = isOther ? null : result.value;
  return (
    <div class="own">
      <h2>A program of your own, for held-out prompt {prompt.value + 1}</h2>
      <p>
        {answers[0] === undefined ? '…' : answers[0].question.replace(/<\|[a-z_]+\|>(user|assistant)?/g, '').trim()}
      </p>
      <label>
        Program
        <textarea
          rows={8}
          spellcheck={false}
          value={source.value}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      </label>
      <div class="controls">
        <button type="button" disabled={now === 'judging' || taskNow() === undefined} onClick={judge}>
          {now === 'judging' ? 'Judging…' : 'Judge it'}
        </button>
        {answers.map((answer, side) => (
          <button
            key={`${side}`}
            type="button"
            disabled={answer === undefined}
            onClick={() => change(extractProgram(answer?.trained.text ?? '') ?? '')}
          >
            Take the {side === 0 ? 'left' : 'right'} answer
          </button>
        ))}
      </div>
      <p class="verdict" aria-live="polite">
        {isOther && 'This program was written for another prompt; this one may want another name.'}
        {trouble.value !== '' && `That did not work: ${trouble.value}`}
        {now === 'outside' && <NeedsPython plan={plan} />}
        {now !== null && typeof now === 'object' && <Verdict {...now} />}
      </p>
      <p class="hint">
        A straight-line program is judged at once, as in training. Others run in Python in a worker of this page: each
        in a fresh interpreter, without network or files of yours, and ended after ten seconds. The same tests and rules
        decide as in the lab’s sandbox. There each program is a process, cut off by the system; here a tab’s worker is
        all that holds it, and an exit status is the one with which the program ended its interpreter.
      </p>
    </div>
  );
}
