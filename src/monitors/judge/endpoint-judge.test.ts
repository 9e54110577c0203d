/** A judge behind an endpoint: nothing is asked twice, also not by the next process, and what failed is counted and kept. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AnsweringServer, answeringServer, say } from '../../../test/answering-server.ts';
import { AnswerFile } from './answer-file.ts';
import { ChatEndpoint } from './endpoint.ts';
import { type EndpointJudgeSettings, endpointJudge } from './endpoint-judge.ts';
import { textJudgeMonitor } from './judge.ts';

let home = '';
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gq-answers-'));
});
afterAll(() => rm(home, { recursive: true }));

const text = (completion: string, id: string) => ({ id, text: { prompt: 'p', completion } });

async function open(
  { endpoint }: Pick<AnsweringServer, 'endpoint'>,
  file: string,
  changes: Partial<EndpointJudgeSettings> = {},
) {
  const settings: EndpointJudgeSettings = {
    ...{ modelName: 'm', keyVariable: '', maxTokens: 16, timeoutSeconds: 5, retries: 0, parallel: 3 },
    ...{ question: '{response}', quote: 'indent', yes: 'Yes', no: 'No', unreachable: 'error', ...changes },
  };
  return endpointJudge(settings, new ChatEndpoint(endpoint, settings), await AnswerFile.open(join(home, file)));
}

/** Says yes and no in turns, whatever is asked: only an answer that was kept can come again. The first ones wait for one another. */
function turns(first = 1): Promise<AnsweringServer> {
  const waiting: (() => void)[] = [];
  return answeringServer((response, _request, count) => {
    waiting.push(() => say(response, count % 2 === 0 ? 'Yes' : 'No', 5));
    if (count + 1 >= first) for (const answer of waiting.splice(0)) answer();
  });
}

it('asks a question once, several at a time, and another process asks nothing', async () => {
  await using server = await turns(3);
  const texts = ['a', 'b', 'a', 'c', 'd', 'e', 'f'].map((each, i) => text(each, `1-0-${i}`));
  const judge = await open(server, 'once.jsonl');
  const scores = await judge.score(0, texts);
  expect(server.requests).toHaveLength(6);
  expect(server.together).toBe(3);
  expect(scores[2]).toBe(scores[0]);
  expect([...scores].sort()).toEqual([0, 0, 0, 1, 1, 1, scores[0]].sort());
  const costs = { requests: 6, tokens: 30 };
  expect(judge.report()).toEqual({ abstentions: {}, costs });
  expect(await judge.score(1, [text('c', '2-0-0')])).toEqual([scores[3]]);
  expect(judge.report().costs).toEqual({});
  // A process that was killed while it wrote leaves half a line.
  appendFileSync(join(home, 'once.jsonl'), '{"key":"half');
  const resumed = await open(server, 'once.jsonl');
  expect(await resumed.score(0, texts)).toEqual(scores);
  expect(resumed.report()).toEqual({ abstentions: {}, costs });
  expect(await resumed.score(1, [text('new', '2-0-1')])).toEqual([1]);
  expect(server.requests).toHaveLength(7);
  expect(await (await open(server, 'once.jsonl')).score(0, texts)).toEqual(scores);
});

it('asks anew where the model or the settings are others', async () => {
  await using server = await turns();
  for (const changes of [{}, { modelName: 'n' }, { maxTokens: 8 }, { question: 'Is it?\n{response}' }, {}]) {
    await (await open(server, 'others.jsonl', changes)).score(0, [text('a', '1-0-0')]);
  }
  expect(server.requests).toHaveLength(4);
});

it('abstains on what says nothing, by reason, and keeps that', async () => {
  const answers: Record<string, unknown> = { a: 'Yes', b: 'Perhaps', c: '', d: 3, e: 'NaN', f: '0.9', g: 'Yes and no' };
  await using server = await answeringServer((response, { body }) =>
    say(response, answers[body.messages[0].content.trim()]),
  );
  const texts = Object.keys(answers).map((each, i) => text(each, `1-0-${i}`));
  for (const _process of [1, 2]) {
    const judge = await open(server, 'nothing.jsonl');
    expect(await judge.score(0, texts)).toEqual([1, null, null, null, null, null, null]);
    expect(judge.report().abstentions).toEqual({ empty: 1, malformed: 1, unclear: 4 });
  }
  expect(server.requests).toHaveLength(7);
});

it('stops where another model answers than before, also in the next process, and takes a name that is longer than the one asked for', async () => {
  let model = 'm-2026-01-01';
  await using server = await answeringServer((response) => {
    response.end(JSON.stringify({ model, choices: [{ message: { content: 'No' } }] }));
  });
  const judge = await open(server, 'model.jsonl');
  expect(await judge.score(0, [text('a', '1-0-0')])).toEqual([0]);
  model = 'another';
  const message = /expected answers of m-2026-01-01, as those that the run has, found one of another/;
  await expect(judge.score(0, [text('b', '1-0-1')])).rejects.toThrow(message);
  const resumed = await open(server, 'model.jsonl');
  expect(await resumed.score(0, [text('a', '1-0-0')])).toEqual([0]);
  await expect(resumed.score(0, [text('b', '1-0-1')])).rejects.toThrow(message);
  model = 'm-2026-01-01';
  expect(await resumed.score(0, [text('b', '1-0-1')])).toEqual([0]);
});

it.each([
  ['good-judge', 'toy', false],
  ['good-judge', 'good-judge-2026-01-01', true],
  ['maker/good-judge:free', 'Good-Judge', true],
])('asked for %s, an answer by %s counts: %s', async (modelName, model, counts) => {
  await using server = await answeringServer((response) => {
    response.end(JSON.stringify({ model, choices: [{ message: { content: 'No' } }] }));
  });
  const scores = (await open(server, `${model}.jsonl`, { modelName })).score(0, [text('a', '1-0-0')]);
  if (counts) expect(await scores).toEqual([0]);
  else await expect(scores).rejects.toThrow(/expected answers of good-judge, found one of toy\. .*modelName/);
});

it('stops where nobody answers, keeps what was answered, and asks the rest when it goes on', async () => {
  let down = true;
  await using server = await answeringServer((response, { body }) => {
    if (down && body.messages[0].content.includes('b')) response.destroy();
    else say(response, 'No');
  });
  const texts = [text('a', '1-0-0'), text('b', '1-0-1')];
  const judge = await open(server, 'down.jsonl', { parallel: 1 });
  await expect(judge.score(0, texts)).rejects.toThrow(
    /judge m at http.*an answer in 1 attempts, found unreachable: .*--resume/,
  );
  down = false;
  expect(await (await open(server, 'down.jsonl')).score(0, texts)).toEqual([0, 0]);
  expect(server.requests).toHaveLength(3);
  const gone = await open({ endpoint: 'http://127.0.0.1:1/v1' }, 'gone.jsonl');
  await expect(gone.score(0, texts)).rejects.toThrow(/found unreachable/);
});

it('abstains where nobody answers if the recipe says so: for this update, however often it is done, and for no other', async () => {
  let down = true;
  await using server = await answeringServer((response) => {
    if (down) response.writeHead(500).end();
    else say(response, 'Yes');
  });
  const first = [text('a', '1-0-0'), text('a', '1-0-1')];
  const judge = await open(server, 'abstain.jsonl', { unreachable: 'abstain' });
  expect(await judge.score(0, first)).toEqual([null, null]);
  expect(judge.report()).toEqual({ abstentions: { failing: 2 }, costs: { requests: 1, tokens: 0 } });
  down = false;
  const resumed = await open(server, 'abstain.jsonl', { unreachable: 'abstain' });
  expect(await resumed.score(0, first)).toEqual([null, null]);
  expect(resumed.report()).toEqual({ abstentions: { failing: 2 }, costs: { requests: 1, tokens: 0 } });
  expect(await resumed.score(1, [text('a', '2-0-0')])).toEqual([1]);
  // Replayed once more, the first update still has what it had.
  const again = await open(server, 'abstain.jsonl', { unreachable: 'abstain' });
  expect(await again.score(0, first)).toEqual([null, null]);
});

it('refuses a file of answers that is damaged', async () => {
  await using server = await turns();
  await (await open(server, 'damaged.jsonl')).score(0, [text('a', '1-0-0')]);
  const path = join(home, 'damaged.jsonl');
  writeFileSync(path, readFileSync(path, 'utf8').replace('"score":1', '"score":7'));
  await expect(open(server, 'damaged.jsonl')).rejects.toThrow(
    /damaged\.jsonl: expected an answer of the judge on line 1/,
  );
});

it('refuses answers that were changed, taken out or put elsewhere, though each would be an answer', async () => {
  await using server = await turns();
  const judge = await open(server, 'edited.jsonl', { parallel: 1 });
  await judge.score(0, [text('a', '1-0-0'), text('b', '1-0-1')]);
  await judge.score(1, [text('c', '2-0-0')]);
  const path = join(home, 'edited.jsonl');
  const whole = readFileSync(path, 'utf8');
  const [a, b, c] = whole.split('\n');
  for (const [lines, line] of [
    [[a.replace('"score":1', '"score":0'), b, c], 1],
    [[a, c], 2],
    [[b, a, c], 1],
    [[a, b, c, c], 4],
  ] as const) {
    writeFileSync(path, `${lines.join('\n')}\n`);
    await expect(open(server, 'edited.jsonl')).rejects.toThrow(`expected line ${line} as it was written`);
  }
  writeFileSync(path, whole);
  await expect(open(server, 'edited.jsonl')).resolves.toBeDefined();
});

it('refuses one word for both answers, on which it could only abstain', () => {
  const settings = { endpoint: 'https://host/v1', modelName: 'm', yes: 'Yes', no: ' yes' };
  expect(() => textJudgeMonitor.models(settings)).toThrow('expected two words that differ in their letters');
  expect(textJudgeMonitor.models({ ...settings, no: 'no' })).toEqual([]);
});
