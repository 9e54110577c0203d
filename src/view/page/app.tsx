/** The viewer: one bar, one screen, keys. What is shown follows from the address alone. */
import { type ComponentType, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ScreenName } from './address.ts';
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
import { Button, Facts } from './parts.tsx';
import { serverNotice } from './range-file.ts';
import { RolloutScreen } from './rollout.tsx';
import { RolloutsScreen } from './rollouts.tsx';
import { RunScreen } from './run.tsx';
import { source } from './source.ts';

const keyWords: readonly (readonly [key: string, words: string])[] = [
  ['q', 'as trained or deployed, everywhere'],
  ['j, k', 'next, before'],
  ['[, ]', 'update before, next update'],
  ['d', 'difference of two completions'],
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
};

const switchState = () => changeParameters({ state: shownState.value === 'full' ? null : 'full' });

function goOut(): void {
  const { screen, id } = address.value;
  if (screen === 'rollout') goTo('rollouts', id);
  else if (screen === 'matrix') goTo('experiment', id);
  else if (screen === 'run' || screen === 'experiment') goTo('home');
  else if (screen !== 'home') goTo('run', id);
}

function App() {
  const [isHelp, setHelp] = useState(false);
  const [isNoting, setNoting] = useState(false);
  const [told, setTold] = useState('');
  const { screen, id } = address.value;
  const Screen = screenOfName[screen];
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
        <a href={linkTo('home')}>gq view</a>
        <button type="button" id="switch" aria-pressed={shownState.value === 'full'} onClick={switchState}>
          quarantine <strong>{shownState.value === 'full' ? 'on' : 'off'}</strong>: {stateWords[shownState.value]} (q)
        </button>
        <span class="quiet" id="live">
          {source.home === 'server' ? (isLive.value ? 'live' : 'not connected') : 'a copy'}
        </span>
        <Button words="keys (?)" press={() => setHelp(!isHelp)} />
        <button type="button" aria-expanded={isNoting} onClick={() => setNoting(!isNoting)}>
          note (n)
        </button>
        <WrittenDownload />
        <span role="status">{told}</span>
        {serverNotice.value !== '' && <span class="quiet">{serverNotice.value}</span>}
      </header>
      {isHelp && (
        <aside aria-label="keys">
          <Facts facts={keyWords} />
        </aside>
      )}
      {isNoting && <NotePanel onClose={() => setNoting(false)} />}
      <main>
        <Screen id={id} />
      </main>
    </>
  );
}

followAddress();
followKeys();
if (source.home === 'server') followChanges(() => source.ask('changes', ''));
const place = document.getElementById('app');
if (place !== null) render(<App />, place);
