/** The order of the site: what stands in its navigation, by the path in the repository or the name of a page that is made. */

export interface Group {
  readonly title: string;
  readonly pages: readonly Place[];
}

export interface Place {
  /** A Markdown file of the repository, a folder, or a page that the build makes. */
  readonly path: string;
  /** What the navigation calls it, where its own heading is too long. */
  readonly name?: string;
  /** A long page is divided: each of its sections is a page of its own. */
  readonly divided?: true;
}

const guide = (name: string): Place => ({ path: `docs/guide/${name}.md` });
const divided = (path: string, name?: string): Place => ({ path, name, divided: true });

/** The decisions stand in the order of their numbers, so the folder says which there are. */
export function navigation(decisions: readonly string[]): readonly Group[] {
  return [
    {
      title: 'Start',
      pages: [
        { path: 'README.md', name: 'Overview' },
        { path: 'docs/guide/first-hour.md', name: 'Tutorial' },
        { path: 'docs/what-should-i-use.md' },
        { path: 'site/demo.md', name: 'Demo in the viewer' },
        { path: 'site/playground.md', name: 'Playground' },
        { path: 'docs/glossary.md' },
      ],
    },
    {
      title: 'Results',
      pages: [
        divided('docs/results.md'),
        divided('docs/micro-claim.md'),
        divided('LOG.md', 'Log, with negative results'),
      ],
    },
    {
      title: 'Science',
      pages: [
        divided('docs/science.md', 'The method'),
        divided('docs/baselines.md'),
        divided('docs/micro-lab.md'),
        divided('docs/seed-audit.md'),
      ],
    },
    {
      title: 'Guides',
      pages: [
        guide('small-models'),
        guide('qwen3-4b'),
        guide('write-up'),
        divided('docs/viewer.md'),
        guide('add-a-gate'),
        guide('add-a-penalty'),
        guide('add-a-loophole'),
        guide('add-problems'),
        guide('add-a-text-environment'),
        guide('write-pairs'),
        guide('add-a-judge'),
        guide('add-a-sink'),
        guide('add-an-adapter-start'),
        guide('add-an-op'),
      ],
    },
    {
      title: 'Reference',
      pages: [
        divided('docs/commands.md'),
        { path: 'docs/config.md' },
        { path: 'api', name: 'API' },
        { path: 'recipes', name: 'Recipes' },
        { path: 'examples', name: 'Examples' },
        { path: 'docs/hooks.md' },
        divided('docs/formats.md'),
        divided('docs/run-directory.md'),
        divided('docs/scale.md'),
        divided('docs/interop.md'),
        divided('docs/cuda.md'),
      ],
    },
    {
      title: 'Project',
      pages: [
        divided('ARCHITECTURE.md'),
        { path: 'CONTRIBUTING.md' },
        { path: 'SECURITY.md' },
        divided('CHANGELOG.md'),
        { path: 'bench/results/README.md', name: 'Benchmarks' },
      ],
    },
    { title: 'Decisions', pages: decisions.map((path) => ({ path })) },
  ];
}

/** Pages of the repository that no reader could find, since the navigation does not name them. */
export function missingPages(groups: readonly Group[], files: readonly string[]): string[] {
  const named = new Set(groups.flatMap(({ pages }) => pages.map(({ path }) => path)));
  const pages = files.filter((path) => /^(?:[A-Z]+\.md|docs\/.*\.md)$/.test(path));
  return pages.filter((path) => !named.has(path));
}
