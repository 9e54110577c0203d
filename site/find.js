/**
 * What a search finds. Each entry of `texts` is [path, anchor, title of the page, heading, text]. The build puts this file before search.js: a page
 * that is opened from a folder may load a script, and no module.
 */

/** The places that have every word, best first. A word that nothing has is taken for the one that is spelt most like it. */
function find(texts, words) {
  const places = texts.map((entry) => ({ entry, parts: entry.slice(2).map((part) => part.toLowerCase()) }));
  const meant = words.map((word) =>
    places.some(({ parts }) => parts.some((part) => part.includes(word))) ? word : (nearest(places, word) ?? word),
  );
  const scored = places.map((place) => ({ entry: place.entry, score: scoreOf(place, meant) }));
  return {
    meant,
    hits: scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .map(({ entry }) => entry),
  };
}

/**
 * A word in a heading or a title counts for more than one in the text, and words that stand together for more than apart. Every page is before
 * every recipe and program, whose names are made of such words, but for the one whose name is what was written.
 */
function scoreOf({ entry: [path], parts: [title, heading, text] }, words) {
  const together = words.join(' ');
  const scores = words.map(
    (word) => (heading.includes(word) ? 10 : 0) + (title.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0),
  );
  if (scores.includes(0)) return 0;
  const score = scores.reduce((sum, own) => sum + own, 0);
  const isFile = /\.\w+\.html$/.test(path);
  if (isFile) return title === together || title.replace(/\.\w+$/, '') === together ? 10_000 : score / 1000;
  return score + (heading.includes(together) ? 20 : 0) + (text.includes(together) ? 5 : 0);
}

/** The word of the pages that is the fewest letters away, of several the most frequent; none where a third of the letters would be others. */
function nearest(places, word) {
  const most = Math.min(2, Math.floor(word.length / 3));
  const counts = new Map();
  for (const { parts } of places) {
    for (const own of parts.join(' ').match(/[\p{L}][\p{L}\p{N}]+/gu) ?? []) {
      if (Math.abs(own.length - word.length) <= most) counts.set(own, (counts.get(own) ?? 0) + 1);
    }
  }
  const near = [...counts].map(([own, count]) => ({ own, count, away: lettersAway(own, word) }));
  return near.filter(({ away }) => away <= most).sort((a, b) => a.away - b.away || b.count - a.count)[0]?.own;
}

/** How many letters must be put in, left out or changed to make one word of the other. */
function lettersAway(one, other) {
  let row = [...Array(other.length + 1).keys()];
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, own] of [...other].entries()) {
      next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (letter === own ? 0 : 1)));
    }
    row = next;
  }
  return row[other.length];
}

/** The text around the first of the words; no word of it is cut. */
function excerpt(text, words) {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const first = Math.min(...(places.length === 0 ? [0] : places));
  const from = first < 40 ? 0 : text.lastIndexOf(' ', first - 30) + 1;
  const rest = text.slice(from);
  const shown = rest.length <= 140 ? rest : `${rest.slice(0, 141).replace(/\s+\S*$/, '')}…`;
  return from > 0 ? `…${shown}` : shown;
}

globalThis.siteSearch = { find, excerpt };
