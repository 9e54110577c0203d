/** Reads TOML files. An error names the file and the line and repeats little of what is in it, since it may be anything. */
import { parse } from 'smol-toml';
import { UserError } from '../../base/index.ts';
import { readRegular, systemComplaint } from '../../base/node/index.ts';

const shownCharacters = 120;

/** `call` names what is read, such as `read recipe PATH`. */
export function readToml(path: string, call: string): { [key: string]: unknown } {
  let bytes: Buffer;
  try {
    bytes = readRegular(path);
  } catch (cause) {
    const complaint = systemComplaint(cause);
    if (complaint === null) throw cause;
    throw new UserError({ ...complaint, call, expected: 'a readable file' }, { cause });
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UserError({ call, expected: 'TOML, as text in UTF-8', found: 'a binary file' }, { cause });
  }
  if (text.includes('\0')) throw new UserError({ call, expected: 'TOML, as text in UTF-8', found: 'a binary file' });
  return parseToml(text, call);
}

function parseToml(text: string, call: string): { [key: string]: unknown } {
  try {
    return parse(text);
  } catch (cause) {
    const { message, line } = cause as Error & { line?: number };
    const [first] = message.split('\n');
    const at = line === undefined ? '' : ` on line ${line}`;
    const found = `${shorten(first)}${at}`;
    throw new UserError({ call, expected: 'TOML', found }, { cause });
  }
}

/** Without characters that a terminal would obey. */
function shorten(text: string): string {
  const plain = text.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return plain.length > shownCharacters ? `${plain.slice(0, shownCharacters)}…` : plain;
}
