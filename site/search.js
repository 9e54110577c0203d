/**
 * The search of the site, without a server: the texts of all pages are a script (search-index.js) that is loaded when somebody first
 * searches. Each entry is [path, anchor, title of the page, heading, text].
 */
const root = document.documentElement.dataset.root ?? '';
const query = document.getElementById('query');
const found = document.getElementById('found');
const most = 12;

function loadIndex() {
  if (document.getElementById('index') !== null) return;
  const script = document.createElement('script');
  Object.assign(script, { id: 'index', src: `${root}search-index.js`, onload: show });
  document.head.append(script);
}

/** Entries that have every word; a word in a title or a heading counts for more than one in the text. */
function search(words) {
  const scored = globalThis.siteTexts.map((entry) => {
    const [title, heading, text] = entry.slice(2).map((part) => part.toLowerCase());
    const scores = words.map(
      (word) => (heading.includes(word) ? 10 : 0) + (title.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0),
    );
    return { entry, score: scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0) };
  });
  return scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
}

function excerpt(text, words) {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const from = Math.max(0, Math.min(...places, text.length) - 40);
  return `${from > 0 ? '…' : ''}${text.slice(from, from + 140)}`;
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function show() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  if (words.length === 0 || globalThis.siteTexts === undefined) return;
  const hits = search(words);
  const items = hits.slice(0, most).map(({ entry: [path, anchor, title, heading, text] }) => {
    const href = root + path + (anchor === '' ? '' : `#${anchor}`);
    const where = heading === title ? title : `${title} › ${heading}`;
    return element('li', {}, element('a', { href }, where, element('small', {}, excerpt(text, words))));
  });
  const more = hits.length > most ? `${most} of ${hits.length} places` : `${hits.length || 'no'} places`;
  found.append(element('p', {}, more), element('ol', {}, ...items));
}

query.addEventListener('focus', loadIndex);
query.addEventListener('input', show);
query.form.addEventListener('submit', (event) => {
  event.preventDefault();
  found.querySelector('a')?.click();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    query.value = '';
    show();
  }
  if (event.key === '/' && document.activeElement === document.body) {
    event.preventDefault();
    query.focus();
  }
});

// On a narrow screen the contents would stand before the text.
if (matchMedia('(max-width: 75rem)').matches) {
  for (const contents of document.querySelectorAll('.contents')) contents.open = false;
}
