/**
 * Which connections are kept when there are too many. One whose request has arrived is never closed for a new one; of the others, which say
 * nothing or never end what they say, the oldest goes. So nobody can lock others out by holding connections open.
 */
import type { Socket } from 'node:net';

export class Connections {
  readonly #most: number;
  /** Those that wait for a request or its end, the oldest first. */
  readonly #waiting = new Set<Socket>();
  #answered = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a connection in, at the cost of another, or of its own where every request of the others has arrived. */
  open(socket: Socket): void {
    this.#waiting.add(socket);
    socket.once('close', () => this.#waiting.delete(socket));
    if (this.#waiting.size + this.#answered <= this.#most) return;
    const [oldest] = this.#waiting;
    this.#waiting.delete(oldest);
    oldest.destroy();
  }

  /** Keeps a connection, whose request has arrived, until what is returned is disposed of. */
  keep(socket: Socket): Disposable {
    this.#waiting.delete(socket);
    this.#answered++;
    return {
      [Symbol.dispose]: () => {
        this.#answered--;
        if (!socket.destroyed) this.#waiting.add(socket);
      },
    };
  }
}
