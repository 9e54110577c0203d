/** Sends raw text to a server and returns all that came back when the connection ended, however it ended. */
import { connect } from 'node:net';

export function exchange(url: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
    socket.on('error', () => undefined).on('close', () => resolve(received));
    socket.on('data', (data) => {
      received += data;
    });
  });
}
