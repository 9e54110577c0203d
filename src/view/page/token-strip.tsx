/** The tokens of a completion: the darker, the less likely; underlined in the colour of the route. A table has the numbers. */
import { visible } from '../../base/index.ts';
import type { LedgerRow, TokenTexts } from '../api.ts';
import { Answered, PageTable } from './parts.tsx';
import { useAsked } from './source.ts';

const routeLetters: Readonly<Record<string, string>> = { k: 'keep', a: 'absorb', r: 'route' };
/** Tokens that are shown; a page of more would not scroll. */
const mostTokens = 2000;

interface StripToken {
  readonly text: string;
  readonly logp: number | null;
  readonly route: string;
  readonly score: number | null;
  /** The token with which the model said that it was done: it has a name and no text. */
  readonly isEnd: boolean;
}

export function stripTokens(rollout: LedgerRow, texts: TokenTexts): StripToken[] {
  const { tokenIds, tokenLogps, tokenRoutes, tokenScores, route, truncated } = rollout;
  const ids = tokenIds ?? [];
  return ids.slice(0, mostTokens).map((id, i) => {
    const text = texts[id] ?? `#${id}`;
    return {
      text,
      logp: tokenLogps?.[i] ?? null,
      route: routeLetters[tokenRoutes?.[i] ?? ''] ?? route ?? 'none',
      score: tokenScores?.[i] ?? null,
      isEnd: !truncated && i === ids.length - 1 && /^<.+>$/.test(text),
    };
  });
}

export function TokenStrip({ rollout }: { readonly rollout: LedgerRow }) {
  const { run, tokenIds, tokenRoutes, meanLogp } = rollout;
  const answer = useAsked('tokens', run);
  if (tokenIds === null) return <p class="quiet">This run stored no tokens (output.storeTokens).</p>;
  const left = tokenIds.length - mostTokens;
  return (
    <>
      <h2>Tokens</h2>
      <Answered answer={answer}>{(texts) => <Tokens tokens={stripTokens(rollout, texts)} />}</Answered>
      <p class="quiet">
        {tokenIds.length} tokens{meanLogp !== null && `, mean log-probability ${meanLogp.toFixed(3)}`}. Shaded:
        unlikely. Underlined: the route, which the gate gave {tokenRoutes === null ? 'the rollout' : 'each token'}.
        {left > 0 && ` ${left} more are not shown.`}
      </p>
    </>
  );
}

/** A probability of e⁻⁵ and less is shaded in full. */
const unlikely = (logp: number | null): number => Math.round(20 * Math.min(5, -(logp ?? 0)));

const shownText = (text: string): string => visible(text).replaceAll('\n', '↵\n').replaceAll('\t', '→\t');

function wordsOf({ text, logp, route, score }: StripToken, i: number): string {
  const parts = [`token ${i + 1} ${JSON.stringify(text)}`, `log-probability ${logp ?? 'unknown'}`, `route ${route}`];
  return [...parts, ...(score === null ? [] : [`score ${score.toPrecision(3)}`])].join(', ');
}

function Tokens({ tokens }: { readonly tokens: readonly StripToken[] }) {
  return (
    <>
      <pre class="tokens" tabIndex={0} role="region" aria-label="tokens">
        {tokens.map((token, i) => (
          <span
            key={i}
            class={`token token-${token.route}`}
            style={{ '--unlikely': `${unlikely(token.logp)}%` }}
            title={wordsOf(token, i)}
          >
            {token.isEnd ? <em>end</em> : shownText(token.text)}
          </span>
        ))}
      </pre>
      <details>
        <summary>the numbers of the tokens</summary>
        <PageTable
          id="tokens"
          caption="tokens"
          heads={['place', 'token', 'log-probability', 'route', 'score']}
          rows={tokens.map(({ text, logp, route, score }, i) => [
            i + 1,
            <code>{visible(JSON.stringify(text))}</code>,
            logp ?? '-',
            <span class={`route-${route}`}>{route}</span>,
            score?.toPrecision(3) ?? '-',
          ])}
        />
      </details>
    </>
  );
}
