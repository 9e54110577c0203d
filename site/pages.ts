/** The documents of the repository in the order of the navigation, as pages. */
import type { Chapter } from './layout.ts';
import { Library, type SitePage } from './library.ts';
import { missingPages, navigation } from './navigation.ts';

export interface Pages {
  readonly chapters: readonly Chapter[];
  readonly pages: readonly SitePage[];
  /** Files that pages show as they are. */
  readonly copies: ReadonlySet<string>;
}

/** `files` are those of the repository, `made` the addresses of pages that others write. */
export function readPages(root: string, files: readonly string[], made: ReadonlySet<string>): Pages {
  const groups = navigation(files.filter((path) => path.startsWith('docs/adr/')));
  const missing = missingPages(groups, files);
  if (missing.length > 0) throw new Error(`site: not in site/navigation.ts: ${missing.join(', ')}`);
  const divided = groups.flatMap(({ pages }) => pages.filter((place) => place.divided).map(({ path }) => path));
  const library = new Library(root, new Set(divided), made);
  const chapters = groups.map(({ title, pages }) => ({
    title,
    entries: pages.map(({ path, name }) => ({
      place: path,
      name: name ?? library.titleOf(path),
      path: path === 'api' ? 'api/index.html' : library.address(path),
      sections: path.endsWith('.md') ? library.sections(path) : [],
    })),
  }));
  library.finish();
  return { chapters, pages: [...library.pages.values()], copies: library.copies };
}
