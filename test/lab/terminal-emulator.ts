/**
 * A terminal for tests: rows of a limited width that wrap, a window over the last of them, and the few sequences that gq sends. Lines
 * that wrapped are joined and wrapped anew when the window is resized, as current terminals do.
 */
interface Row {
  text: string;
  /** Whether the line goes on in the next row. */
  wraps: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal reads control characters
const sequencePattern = /^\u001b\[(\d*)([A-Za-z])$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const tokenPattern = /\u001b\[\d*[A-Za-z]|[\s\S]/gu;

export class TerminalEmulator {
  readonly isTTY = true;
  columns: number;
  rows: number;
  #rows: Row[] = [{ text: '', wraps: false }];
  #row = 0;
  #column = 0;
  /** Control characters that arrived and are not among the few sequences. */
  readonly unknown: string[] = [];

  constructor(columns: number, rows = 24) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): boolean {
    for (const [token] of text.matchAll(tokenPattern)) this.#take(token);
    return true;
  }

  /** All rows, those that have left the window too, without empty ones at the end. */
  get lines(): string[] {
    const texts = this.#rows.map(({ text }) => text.trimEnd());
    while (texts.length > 0 && texts[texts.length - 1] === '') texts.pop();
    return texts;
  }

  /** Whether any row goes on in the next one. */
  get wrapped(): boolean {
    return this.#rows.some(({ wraps }) => wraps);
  }

  resize(columns: number): void {
    const lines: string[] = [];
    let [cursorLine, cursorAt, open] = [0, 0, false];
    for (const [i, { text, wraps }] of this.#rows.entries()) {
      if (!open) lines.push('');
      const last = lines.length - 1;
      if (i === this.#row) [cursorLine, cursorAt] = [last, lines[last].length + this.#column];
      lines[last] += wraps ? text.padEnd(this.columns) : text;
      open = wraps;
    }
    this.columns = columns;
    this.#rows = [];
    for (const [i, line] of lines.entries()) {
      if (i === cursorLine) {
        this.#row = this.#rows.length + Math.floor(cursorAt / columns);
        this.#column = cursorAt % columns;
      }
      const count = Math.max(1, Math.ceil(line.length / columns));
      for (let part = 0; part < count; part++) {
        this.#rows.push({ text: line.slice(part * columns, (part + 1) * columns), wraps: part < count - 1 });
      }
    }
    while (this.#rows.length <= this.#row) this.#rows.push({ text: '', wraps: false });
  }

  #take(token: string): void {
    const sequence = sequencePattern.exec(token);
    if (token === '\n') this.#newRow();
    else if (token === '\r') this.#column = 0;
    else if (sequence !== null) this.#obey(Number(sequence[1] || '1'), sequence[2], token);
    else if (/[\p{Cc}\p{Cf}]/u.test(token)) this.unknown.push(token);
    else if (/\p{Script=Han}/u.test(token)) this.#putWide(token);
    else this.#put(token);
  }

  #putWide(character: string): void {
    if (this.#column === this.columns - 1) this.#put(' ');
    this.#put(character);
    this.#put(' ');
  }

  #obey(count: number, command: string, token: string): void {
    const row = this.#rows[this.#row];
    if (command === 'A') this.#row = Math.max(0, this.#rows.length - this.rows, this.#row - count);
    else if (command === 'K' || command === 'J') {
      row.text = row.text.slice(0, this.#column);
      row.wraps = false;
      if (command === 'J') this.#rows.length = this.#row + 1;
    } else this.unknown.push(token);
  }

  #put(character: string): void {
    if (this.#column === this.columns) {
      this.#rows[this.#row].wraps = true;
      this.#newRow();
    }
    const row = this.#rows[this.#row];
    const text = row.text.padEnd(this.#column);
    row.text = text.slice(0, this.#column) + character + text.slice(this.#column + 1);
    this.#column += 1;
  }

  #newRow(): void {
    this.#row += 1;
    this.#column = 0;
    if (this.#row === this.#rows.length) this.#rows.push({ text: '', wraps: false });
  }
}
