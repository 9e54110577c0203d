/**
 * Rules against text that would tie the repository to one machine or to how it was made. Patterns are written with character
 * classes so that this file does not match itself.
 */
const textRules: readonly { readonly name: string; readonly pattern: RegExp; readonly except?: RegExp }[] = [
  { name: 'a path of one machine', pattern: /(?<![\w.~-])[/](?:work|root|home[/]\w+|Users[/]\w+)[/]/ },
  { name: 'a registry host', pattern: /\b(?:registry|npm)[.][a-z0-9-]+[.][a-z]{2,}\b/i },
  // The sandbox may use the word, since setsid() of POSIX makes one, and so may those who speak a protocol that has it, as Node's inspector does.
  {
    name: 'how the work was organised',
    pattern: /\b[s]essions?\b/i,
    except:
      /^(?:(?:src\/env\/(?:sandbox|outside)|src\/serve\/(?:environment|tinker)|test\/outside|test\/serve\/tinker)\/|test\/browser\/lab\.test\.ts$)/,
  },
  { name: 'who did the work', pattern: /\b(?:[s]ub-?agents?|[h]elper agents?)\b/i },
  { name: 'a number of the tracker', pattern: /\b[i]ssue (?:#|no\. ?)?\d+\b/i },
];

export function checkText(path: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      textRules
        .filter(({ pattern, except }) => except?.test(path) !== true && pattern.test(line))
        .map(({ name }) => `${path}:${index + 1}: ${name}: ${line.trim().slice(0, 120)}`),
    );
}
