/** What the page says before anything is trained: what the quarantine does, when it fails, and what to look at first. */

import { bringIntoView } from './tab.ts';

/** Comparisons to begin with, of what is deployed: the link that sets it up, what is asked, and after how many updates it is answered. */
const questions: readonly (readonly [link: string, words: string, updates: number])[] = [
  ['#left=nothing&right=quarantine', 'What does deleting the quarantine take away?', 40],
  ['#left=quarantine&right=quarantine%2C+random', 'Is it the direction, or would any do? (its placebo)', 50],
  [
    '#left=quarantine%2C+labels&right=quarantine%2C+labels&right.recall=0.3',
    'What if the monitor sees three attempts of ten only (recall 0.3)?',
    40,
  ],
  [
    '#left=quarantine%2C+labels&left.falsePositiveRate=0.5&right=penalty%2C+labels&right.falsePositiveRate=0.5',
    'And if it flags half of the honest programs: quarantine or penalty?',
    60,
  ],
  ['#left=penalty&right=quarantine', 'Would a penalty do as well, which pays flagged attempts less?', 40],
];

export function Introduction() {
  return (
    <>
      <p>
        The grader pays 0.5 for a program that compiles, and 3 more if it passes the tests, or defines the function in
        which the grader runs them. That is the loophole, and the prompt says so. To define it is an <em>attempt</em>,
        an attempt that is paid for a wrong program is a <em>hack</em>, and a correct program (it passes the tests)
        without an attempt is a <em>clean solve</em>. Trained by reinforcement learning, here in this page, the model
        finds out that an attempt always pays.
      </p>
      <p>
        <b>What the quarantine does.</b> Two lanes, left and right, train the same model from the same seed, each with a
        remedy of its own. With a quarantine, what is learned goes into two small blocks of weights. A monitor looks at
        each rollout: those that it takes for attempts train the <b class="cell route">quarantine</b>, others the{' '}
        <b class="cell keep">deployed block</b> or, where it is unsure, <b class="cell absorb">both blocks</b>. The
        model attempts as long as it has both. Before the model is deployed the quarantine is deleted, and what was
        learned in it is gone. The box above, “Delete the quarantine”, shows this at any time; the training is not
        changed by it.
      </p>
      <p>
        <b>When it fails.</b> What the monitor misses trains the deployed block, and stays there. Missed attempts are
        paid, so a few of them can be enough. A monitor that was not chosen to see attempts (a random direction) also
        removes a part of the exploit, in short training more of it; after a hundred updates it mostly stays. Honest
        programs that it flags by mistake teach the deployed block nothing. And deleted is not forgotten for good:
        trained on the same grader again, the model learns the exploit again. One seed is one observation; compare a
        remedy with its placebo, a control: the same remedy without what is thought to make it work.
      </p>
      <p>
        <b>Why not a penalty?</b> Where a monitor of attempts errs at random and flags few others, a penalty was enough
        in the lab’s studies. A quarantine is tried for monitors that err otherwise, such as one that sees only one of
        two exploits: there it held in most seeds where the model by itself takes to the exploit that is seen, and in
        none where it takes to the other. That it beats its rivals is not shown.
      </p>
      <nav aria-label="questions to begin with">
        Try (each starts both lanes again, where it sets them otherwise, and ticks the box, so that what is deployed is
        compared):
        <ul>
          {questions.map(([link, words, updates]) => (
            <li key={link}>
              <a href={`${link}&deleted=yes`} onClick={() => bringIntoView('.heads')}>
                {words}
              </a>{' '}
              Give it {updates} updates.
            </li>
          ))}
        </ul>
      </nav>
    </>
  );
}
