/** A list of what was opened, to be closed in the opposite order. */
export class Resources implements AsyncDisposable {
  readonly #closers: (() => unknown)[] = [];

  use<T extends Disposable | AsyncDisposable>(resource: T): T {
    this.#closers.push(() =>
      Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose](),
    );
    return resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
