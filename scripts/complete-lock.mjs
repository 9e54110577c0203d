/**
 * Completes package-lock.json after `npm install`: a registry mirror that lacks the binaries of other platforms makes npm
 * leave them out, and `npm ci` then refuses the lock. Adds an entry for every optional dependency that is exact,
 * named after a platform, and missing; npm fetches it only on that platform. Prints how many it added.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const path = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(path, 'utf8'));
const platform =
  /(?<os>android|darwin|freebsd|linux|openharmony|win32)-(?<cpu>arm64|arm|x64|ia32|ppc64|riscv64|s390x)(?<abi>-[a-z]+)?$/;

function limitsOf(name) {
  if (name.endsWith('wasm32-wasi')) return { cpu: ['wasm32'] };
  const found = platform.exec(name)?.groups;
  if (found === undefined) return undefined;
  const libc = { '-gnu': ['glibc'], '-musl': ['musl'] }[found.abi];
  return { cpu: [found.cpu], ...(libc && { libc }), os: [found.os] };
}

/** Where Node would look for `name` from the package at `from`, nearest first. */
function placesOf(from, name) {
  const chain = `/${from}`.split('/node_modules/');
  return chain.map((_, depth) => {
    const owner = chain.slice(0, chain.length - depth).join('/node_modules/');
    return `${owner}/node_modules/${name}`.slice(1);
  });
}

let added = 0;
for (const [from, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const places = placesOf(from, name);
    const limits = limitsOf(name);
    if (limits === undefined || places.some((place) => lock.packages[place]?.version === version)) continue;
    lock.packages[places[1]] = { version, ...limits, ...(parent.dev && { dev: true }), optional: true };
    added += 1;
  }
}
if (added > 0) {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
}
console.log(`package-lock.json: ${added} platform packages added`);
