/** Pairs as JSON: `{"shows": [loopholes], "pairs": [{section, heading, tags, prompt, hack, clean}]}`; prompt: a string or a list of {role, content}. */
import { nearestName } from '../../base/index.ts';
import { isObject, type JsonValue, parseJson, refuseDuplicateKeys, show } from '../../model/index.ts';
import type { Message } from '../problem.ts';
import {
  checkContents,
  normaliseLineEnds,
  type Pair,
  type PairProblem,
  type PairPrompt,
  type ParsedPairs,
} from './pair.ts';

const keys = ['section', 'heading', 'tags', 'prompt', 'hack', 'clean'] as const;

type Complain = (expected: string, found: string) => void;

function checkKeys(object: Readonly<Record<string, JsonValue>>, allowed: readonly string[], complain: Complain): void {
  for (const key of Object.keys(object)) {
    if (allowed.includes(key)) continue;
    const nearest = nearestName(key, allowed);
    complain(
      `only the keys ${allowed.join(', ')}`,
      `"${key}"${nearest === undefined ? '' : `; did you mean ${nearest}`}`,
    );
  }
}

function readMessage(value: JsonValue, complain: Complain): Message {
  if (isObject(value)) {
    const { role, content } = value;
    checkKeys(value, ['role', 'content'], complain);
    if ((role === 'system' || role === 'user') && typeof content === 'string') {
      return { role, content: normaliseLineEnds(content) };
    }
  }
  complain('messages of {role: "system" or "user", content}', show(value));
  return { role: 'user', content: '' };
}

function readPrompt(value: JsonValue | undefined, complain: Complain): PairPrompt {
  if (typeof value === 'string') return normaliseLineEnds(value);
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => readMessage(item, complain));
  complain('prompt: a string or a list of messages', show(value));
  return '';
}

function readPair(value: JsonValue, complain: Complain): Pair | null {
  if (!isObject(value)) {
    complain('an object', show(value));
    return null;
  }
  checkKeys(value, keys, complain);
  const text = (key: (typeof keys)[number]): string => {
    const found = value[key];
    if (typeof found === 'string') return normaliseLineEnds(found);
    complain(`${key}: a string`, show(found));
    return '';
  };
  const tags = value['tags'];
  const isTags = Array.isArray(tags) && tags.every((tag) => typeof tag === 'string');
  if (!isTags) complain('tags: a list of strings', show(tags));
  return {
    section: text('section'),
    heading: text('heading'),
    tags: isTags ? (tags as readonly string[]) : [],
    prompt: readPrompt(value['prompt'], complain),
    hack: text('hack'),
    clean: text('clean'),
  };
}

export function parsePairsJson(text: string, file: string): ParsedPairs {
  const root = parseJson(text, file);
  refuseDuplicateKeys(text, file);
  const pairs: Pair[] = [];
  const problems: PairProblem[] = [];
  const list = isObject(root) ? root['pairs'] : undefined;
  if (isObject(root)) {
    checkKeys(root, ['pairs', 'shows'], (expected, found) =>
      problems.push({ place: 'root', heading: null, expected, found }),
    );
  }
  if (!Array.isArray(list) || list.length === 0) {
    problems.push({ place: 'root', heading: null, expected: '{"pairs": [at least one]}', found: show(root) });
    return { file, pairs, problems };
  }
  const first = new Map<string, number>();
  (list as readonly JsonValue[]).forEach((value, index) => {
    const before = problems.length;
    const heading = isObject(value) && typeof value['heading'] === 'string' ? value['heading'] : null;
    const complain: Complain = (expected, found) =>
      problems.push({ place: `pairs[${index}]`, heading, expected, found });
    const pair = readPair(value, complain);
    if (pair === null) return;
    const earlier = first.get(pair.heading);
    if (earlier !== undefined) complain('a heading that no other pair has', `the heading of pairs[${earlier}] again`);
    else first.set(pair.heading, index);
    if (problems.length === before) checkContents(pair, complain);
    if (problems.length === before) pairs.push(pair);
  });
  const shows = isObject(root) ? root['shows'] : undefined;
  if (shows === undefined) return { file, pairs, problems };
  const isNames = Array.isArray(shows) && shows.every((name) => typeof name === 'string');
  if (!isNames) problems.push({ place: 'shows', heading: null, expected: 'a list of loopholes', found: show(shows) });
  return { file, pairs, problems, shows: isNames ? (shows as readonly string[]) : [] };
}

export function formatPairsJson(pairs: readonly Pair[]): string {
  return `${JSON.stringify({ pairs }, null, 2)}\n`;
}
