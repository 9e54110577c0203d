/** Where one is, and where one can go from there: the path to what is shown, the screens about it, the headings of a long page. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Catalogue, ListedRun } from '../api.ts';
import { address, goTo, linkTo, type ScreenName } from './address.ts';
import { catalogue } from './source.ts';

interface Place {
  readonly experiment: Catalogue['experiments'][number] | undefined;
  readonly run: ListedRun | undefined;
  /** The runs of the experiment, or the run alone. */
  readonly runs: readonly ListedRun[];
}

export function placeOf(id: string): Place {
  const { experiments, runs } = catalogue.value.value ?? { experiments: [], runs: [] };
  const run = runs.find((one) => one.id === id);
  const name = run === undefined ? id : run.experiment;
  const own = runs.filter(({ experiment }) => experiment !== null && experiment === name);
  return {
    experiment: experiments.find((one) => one.id === name),
    run,
    runs: own.length === 0 && run !== undefined ? [run] : own,
  };
}

export const runWords = ({ arm, seed }: ListedRun): string => (seed === null ? arm : `${arm}, seed ${seed}`);

export function Crumbs() {
  const { screen, id } = address.value;
  const { experiment, run, runs } = placeOf(id);
  const stays = screen === 'rollout' ? 'rollouts' : screen;
  const rest = run === undefined ? (experiment === undefined ? id : '') : run.id.slice(run.id.lastIndexOf('/') + 1);
  return (
    <nav class="crumbs" aria-label="you are here">
      <a href={linkTo('home')}>gq view</a>
      {experiment !== undefined && <a href={linkTo('experiment', experiment.id)}>{experiment.name}</a>}
      {run !== undefined && runs.length > 1 && screen !== 'label' ? (
        <select aria-label="run" value={run.id} onChange={(event) => goTo(stays, event.currentTarget.value)}>
          {runs.map((one) => (
            <option key={one.id} value={one.id}>
              {runWords(one)}
            </option>
          ))}
        </select>
      ) : (
        rest !== '' && <span>{rest}</span>
      )}
      {screen === 'rollout' && <span>{address.value.parameters.get('rollout')}</span>}
    </nav>
  );
}

type Tab = readonly [words: string, screen: ScreenName, id: string | undefined];

/** The same on every page; what is about one run leads, from an experiment, to the first that was begun, with a quarantine if there is one. */
export function Tabs() {
  const { screen, id } = address.value;
  const { experiment, run, runs } = placeOf(id);
  const row = useRef<HTMLElement>(null);
  const isPlace = experiment !== undefined || run !== undefined;
  useLayoutEffect(() => {
    // Only the row is scrolled: the page itself stays where it is.
    const tab = row.current?.querySelector<HTMLElement>('[aria-current]');
    if (row.current === null || tab == null) return;
    const [own, all] = [tab.getBoundingClientRect(), row.current.getBoundingClientRect()];
    row.current.scrollLeft += (own.left + own.right - all.left - all.right) / 2;
  }, [screen, isPlace]);
  if (!isPlace) return null;
  const begun = runs.filter(({ status }) => status !== 'not started');
  const one = (run ?? begun.find(({ hasQuarantine }) => hasQuarantine) ?? begun[0])?.id;
  const tabs: readonly Tab[] = [
    ['story', 'experiment', experiment?.id],
    ['loopholes', 'matrix', experiment?.id],
    ['run', 'run', one],
    ['gate', 'gate', one],
    ['answers', 'answers', one],
    ['rollouts', 'rollouts', id],
    ['labels', 'labels', id],
    ['compare', 'compare', one],
  ];
  const shown = screen === 'rollout' ? 'rollouts' : screen === 'label' ? 'labels' : screen;
  return (
    <nav class="tabs" aria-label="screens" ref={row}>
      {tabs.map(
        ([words, name, place]) =>
          place !== undefined && (
            <a key={name} href={linkTo(name, place)} {...(name === shown ? { 'aria-current': 'page' as const } : {})}>
              {words}
            </a>
          ),
      )}
    </nav>
  );
}

const headings = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('main h2')];
/** A page with fewer is short enough to be seen at once. */
const fewest = 4;

/** The headings of the page, kept as they come and go. */
export function Contents() {
  const [words, setWords] = useState('');
  useEffect(() => {
    const main = document.querySelector('main');
    if (main === null) return;
    const look = () =>
      setWords(
        headings()
          .map(({ textContent }) => textContent)
          .join('\n'),
      );
    const watch = new MutationObserver(look);
    watch.observe(main, { childList: true, subtree: true, characterData: true });
    look();
    return () => watch.disconnect();
  }, []);
  const names = words.split('\n');
  if (names.length < fewest) return null;
  return (
    <nav class="contents" aria-label="on this page">
      {names.map((name, i) => (
        <button type="button" key={i} onClick={() => headings()[i]?.scrollIntoView()}>
          {name}
        </button>
      ))}
    </nav>
  );
}
