/**
 * The field in which a reader searches, without a server: the texts of all pages are a script (search-index.js) that is loaded when somebody
 * first searches. What is found, and how it is ordered, is in find.js, which the build puts before this file.
 */
const root = document.documentElement.dataset.root ?? '';
const query = document.getElementById('query');
const found = document.getElementById('found');
const most = 12;
const { siteSearch } = globalThis;

function loadIndex() {
  if (document.getElementById('index') !== null) return;
  const script = document.createElement('script');
  Object.assign(script, { id: 'index', src: `${root}search-index.js`, onload: show });
  document.head.append(script);
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
  const { meant, hits } = siteSearch.find(globalThis.siteTexts, words);
  const items = hits.slice(0, most).map(([path, anchor, title, heading, text]) => {
    const href = root + path + (anchor === '' ? '' : `#${anchor}`);
    const where = heading === title ? title : `${title} › ${heading}`;
    return element('li', {}, element('a', { href }, where, element('small', {}, siteSearch.excerpt(text, meant))));
  });
  const more = hits.length > most ? `${most} of ${hits.length} places` : `${hits.length || 'no'} places`;
  const instead =
    meant.join(' ') === words.join(' ') ? '' : `Nothing has “${words.join(' ')}”; for “${meant.join(' ')}”: `;
  found.append(element('p', {}, instead + more), element('ol', {}, ...items));
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
