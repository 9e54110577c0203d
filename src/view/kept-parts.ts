/** What was read and may be read again: kept while it is of so many bytes together. */
export class KeptParts<Part extends { readonly bytes: number }> {
  readonly #most: number;
  /** By their owners; what was used last stands last. */
  readonly #parts = new Map<object, { readonly part: Part; readonly search: number }>();
  #search = 0;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What is used from now on is not given up for what is read later in the same search: one through more than fits would else find nothing again. */
  beginSearch(): void {
    this.#search += 1;
  }

  get(owner: object): Part | undefined {
    const known = this.#parts.get(owner);
    if (known === undefined) return undefined;
    this.#parts.delete(owner);
    this.#parts.set(owner, { ...known, search: this.#search });
    return known.part;
  }

  /** Whether so many bytes may be kept now. */
  fits(bytes: number): boolean {
    let needed = this.#bytes + bytes - this.#most;
    for (const { part, search } of this.#parts.values()) {
      if (needed <= 0 || search === this.#search) break;
      needed -= part.bytes;
    }
    return needed <= 0;
  }

  /** Keeps a part if it fits, and gives up those that were used longest ago for it. */
  keep(owner: object, part: Part): void {
    this.forget(owner);
    if (!this.fits(part.bytes)) return;
    for (const oldest of this.#parts.keys()) {
      if (this.#bytes + part.bytes <= this.#most) break;
      this.forget(oldest);
    }
    this.#parts.set(owner, { part, search: this.#search });
    this.#bytes += part.bytes;
  }

  forget(owner: object): void {
    this.#bytes -= this.#parts.get(owner)?.part.bytes ?? 0;
    this.#parts.delete(owner);
  }
}
