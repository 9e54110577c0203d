/** The viewer: one bar, one screen, keys. What is shown follows from the address alone. */
import { type ComponentType, render } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { ScreenName, ShownState } from './address.ts';
import { address, changeParameters, followAddress, goTo, linkTo, shownState, stateWords } from './address.ts';
import { AnswersScreen } from './answers.tsx';
import { CompareScreen } from './compare.tsx';
import { ExperimentScreen, MatrixScreen } from './experiment.tsx';
import { GateScreen } from './gate.tsx';
import { Home } from './home.tsx';
import { followKeys, useKeys } from './keys.ts';
import { LabelScreen, LabelsScreen } from './label.tsx';
import { followChanges, isLive } from './live.ts';
import { NotePanel, WrittenDownload } from './notes.tsx';
import { Button, Facts, followWidth } from './parts.tsx';
import { Contents, Crumbs, placeOf, Tabs } from './places.tsx';
import { serverNotice } from './range-file.ts';
import { RolloutScreen } from './rollout.tsx';
import { RolloutsScreen } from './rollouts.tsx';
import { RunScreen } from './run.tsx';
import { catalogue, source, useList } from './source.ts';

const keyWords: readonly (readonly [key: string, words: string])[] = [
  ['q', 'as trained or deployed, everywhere'],
  ['j, k', 'next, before'],
  ['[, ]', 'update before, next update'],
  ['d', 'mark the difference of two answers, or not'],
  ['/', 'search'],
  ['Enter', 'open'],
  ['Escape', 'clear filters'],
  ['h, c, u', 'label a rollout: hack, clean, unsure; again takes it back'],
  ['b', 'while labelling: show or hide what the oracle said'],
  ['n', 'pin a note to this view'],
  ['g', 'go home'],
  ['o', 'out: from a rollout to its run, from a run to its experiment'],
  ['y', 'copy a link to what is shown'],
  ['?', 'these keys'],
];

const screenOfName: Readonly<Record<ScreenName, ComponentType<{ readonly id: string }>>> = {
  home: Home,
  experiment: ExperimentScreen,
  matrix: MatrixScreen,
  run: RunScreen,
  gate: GateScreen,
  answers: AnswersScreen,
  rollouts: RolloutsScreen,
  rollout: RolloutScreen,
  label: LabelScreen,
  labels: LabelsScreen,
  compare: CompareScreen,
  unknown: () => (
    <>
      <h1>There is no such page</h1>
      <p>
        Nothing has the address <code>{location.hash}</code>. <a href={linkTo('home')}>Home</a> lists what there is.
      </p>
    </>
  ),
};

const switchState = () => changeParameters({ state: shownState.value === 'full' ? null : 'full' });

function goOut(): void {
  const { screen, id } = address.value;
  const { experiment, run } = placeOf(id);
  if (screen === 'rollout') goTo('rollouts', id);
  else if (screen !== 'run' && run !== undefined) goTo('run', id);
  else if (screen !== 'experiment' && experiment !== undefined) goTo('experiment', experiment.id);
  else goTo('home');
}

const states: readonly ShownState[] = ['full', 'deployed'];

/** What is alive: runs that train, as long as the server answers. */
function liveWords(): string {
  if (source.home !== 'server') return 'a copy';
  if (!isLive.value) return 'not connected';
  const running = (catalogue.value.value?.runs ?? []).filter(({ status }) => status === 'running').length;
  return running === 0 ? '' : `live: ${running} running`;
}

function App() {
  const [isHelp, setHelp] = useState(false);
  const [isNoting, setNoting] = useState(false);
  const [told, setTold] = useState('');
  const { screen, id } = address.value;
  const Screen = screenOfName[screen];
  const found = useList();
  useLayoutEffect(() => {
    catalogue.value = found;
  }, [found.value, found.error]);
  useEffect(() => {
    document.title = screen === 'home' || screen === 'label' ? 'gq view' : `${screen} ${id} · gq view`;
    window.scrollTo(0, 0);
  }, [screen, id]);
  const copy = async () => {
    await navigator.clipboard.writeText(location.href);
    setTold('The link is copied.');
  };
  useKeys({
    q: switchState,
    g: () => goTo('home'),
    o: goOut,
    y: () => void copy(),
    n: () => setNoting(!isNoting),
    '?': () => setHelp(!isHelp),
  });
  return (
    <>
      <header>
        <Crumbs />
        <span class="quiet" id="live">
          {liveWords()}
        </span>
        <span class="switch" id="switch" role="group" aria-label="the policy that is shown (q)">
          {states.map((state) => (
            <button
              type="button"
              key={state}
              aria-pressed={state === shownState.value}
              onClick={() => changeParameters({ state: state === 'full' ? 'full' : null })}
            >
              {stateWords[state]}
            </button>
          ))}
        </span>
        <Button words="keys (?)" press={() => setHelp(!isHelp)} />
        <button type="button" aria-expanded={isNoting} onClick={() => setNoting(!isNoting)}>
          note (n)
        </button>
        <WrittenDownload />
        <span role="status">{told}</span>
        {serverNotice.value !== '' && <span class="quiet">{serverNotice.value}</span>}
        <Tabs />
      </header>
      {isHelp && (
        <aside aria-label="keys">
          <Facts facts={keyWords} />
        </aside>
      )}
      {isNoting && <NotePanel onClose={() => setNoting(false)} />}
      <Contents />
      <main>
        <Screen id={id} />
      </main>
    </>
  );
}

followAddress();
followKeys();
followWidth();
if (source.home === 'server') followChanges(() => source.ask('changes', ''));
const place = document.getElementById('app');
if (place !== null) render(<App />, place);
