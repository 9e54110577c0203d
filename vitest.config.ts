import { defineConfig } from 'vitest/config';

export default defineConfig({
  oxc: { target: 'es2022' },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/package/**', 'node_modules/**'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
  },
});
