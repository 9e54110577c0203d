/** What was found, at a glance: a sentence on attempts, and the four rates of each arm as trained and deployed, with a bar beside each number. */
import { foundIn, rateColours, soundSolve } from '../../report/draw/index.ts';
import type { ExperimentPage } from '../api.ts';
import { type RateName, rateNames, rateWords } from '../query.ts';
import { stateWords } from './address.ts';
import { ArmKey, PageTable, percent } from './parts.tsx';

export interface ArmRates {
  readonly name: string;
  readonly arm?: number;
  /** Null where a state was not evaluated, or is the same as the deployed one. */
  readonly rates: Readonly<Record<RateName, { readonly full: number | null; readonly deployed: number | null }>>;
}

/** Each rate in both states. */
export function inBothStates(rateIn: (state: 'full' | 'deployed', name: RateName) => number | null): ArmRates['rates'] {
  const both = rateNames.map((name) => [name, { full: rateIn('full', name), deployed: rateIn('deployed', name) }]);
  return Object.fromEntries(both);
}

type Arm = ExperimentPage['arms'][number];

const nameOf = ({ arm, isPlacebo, usesLabels }: Arm): string =>
  `${arm}${isPlacebo ? ' (placebo)' : ''}${usesLabels ? ' (uses labels)' : ''}`;

/** The numbers of the story's figure, arm by arm. */
export function Verdicts({ page }: { readonly page: ExperimentPage }) {
  const { story, arms } = page;
  if (story === null) return null;
  const rate = (arm: string, what: string): number | null => {
    const found = story.data.rows.find((row) => row[0] === arm && row[1] === what);
    return found === undefined ? null : Number(found[2]);
  };
  const isElsewhere = story.data.rows.some((row) => row[1] === `${soundSolve}, ${stateWords.deployed}`);
  const words = isElsewhere ? { ...rateWords, solve: soundSolve } : rateWords;
  const findings = arms.map((own, i) => ({
    ...{ name: nameOf(own), arm: i },
    rates: inBothStates((state, name) => rate(own.arm, `${words[name]}, ${stateWords[state]}`)),
  }));
  const armNamed = (arm: string): string => arms.filter((own) => own.arm === arm).map(nameOf)[0] ?? arm;
  const found = foundIn(story, armNamed, page);
  return (
    <>
      <p class="finding">{found}</p>
      <FindingTable
        caption="rates, as trained → deployed"
        words={words}
        findings={findings.filter(({ rates }) => rates.attempt.deployed !== null)}
      />
      {isElsewhere && (
        <p class="quiet">
          Solve is counted on prompts of its own, where no loophole is open: clean solve is no part of it.
        </p>
      )}
    </>
  );
}

export function FindingTable({
  caption,
  findings,
  words = rateWords,
}: {
  readonly caption: string;
  readonly words?: Readonly<Record<RateName, string>>;
  readonly findings: readonly ArmRates[];
}) {
  const rows = findings.map(({ name, arm, rates }) => [
    <>
      {arm !== undefined && <ArmKey arm={arm} />} {name}
    </>,
    ...rateNames.map((rate) => <Rate rate={rate} {...rates[rate]} />),
  ]);
  return <PageTable id="findings" caption={caption} heads={['arm', ...Object.values(words)]} rows={rows} hasRowHeads />;
}

function Rate({ rate, full, deployed }: { readonly rate: RateName } & ArmRates['rates'][RateName]) {
  const width = (value: number | null): string => `${100 * (value ?? 0)}%`;
  return (
    <>
      {full !== null && `${percent(full)}\u00a0→ `}
      <strong>{percent(deployed)}</strong>
      <svg class="bar" aria-hidden="true">
        <rect width="100%" height="6" fill="#888888" opacity="0.2" />
        {full !== null && <rect width={width(full)} height="6" fill={rateColours[rate]} opacity="0.35" />}
        <rect width={width(deployed)} height="6" fill={rateColours[rate]} />
      </svg>
    </>
  );
}
