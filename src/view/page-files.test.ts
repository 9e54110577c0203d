import { describe, expect, it } from 'vitest';
import { pageHtml, wholePage } from './page-files.ts';

describe('the page as one file', () => {
  it('keeps a script whole that holds the end of a script', () => {
    const page = wholePage({ script: 'const end = "</script>";', style: 'p{}' }, 'AAAA');
    expect(page.match(/<\/script/g)).toHaveLength(2);
    expect(page).toContain('const end = "<\\/script>";');
  });

  it('asks nobody for anything, and says where its data is', () => {
    const page = wholePage({ script: '', style: '' }, '');
    expect(page).toContain("connect-src 'none'");
    expect(page).toContain('<meta name="gq-home" content="file">');
    expect(pageHtml('folder')).toContain('<meta name="gq-home" content="folder">');
  });
});
