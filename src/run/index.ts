/** A run on disk and its config. Saving checkpoints and recording, which only training does, are imported by their files. */

export * from './checkpoint-files.ts';
export * from './checksums.ts';
export * from './columns/index.ts';
export * from './config/config.ts';
export * from './config/issues.ts';
export * from './config/outline.ts';
export * from './config/page.ts';
export * from './config/parts.ts';
export * from './config/recipes.ts';
export * from './config/schema.ts';
export * from './config/settings.ts';
export * from './contents.ts';
export * from './directory.ts';
export * from './disk.ts';
export * from './file-sink.ts';
export * from './manifest.ts';
export * from './read.ts';
export * from './sink.ts';
export * from './tasks.ts';
export * from './user-error.ts';
