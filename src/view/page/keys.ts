/** Keys that do something. The screen that is shown adds its own; nothing happens while a text is being written. */
import { useLayoutEffect } from 'preact/hooks';

type Keys = Readonly<Record<string, () => void>>;

const layers: Keys[] = [];

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches('input:not([type=checkbox], [type=radio], [type=range]), textarea, select');
}

/** Whether Enter already means something where the keyboard is. */
const isDoor = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches('a, button, summary, input');

export function followKeys(): void {
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isWriting(event.target)) {
      if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur();
      return;
    }
    if (event.key === 'Enter' && isDoor(event.target)) return;
    const action = layers.toReversed().find((keys) => Object.hasOwn(keys, event.key))?.[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}

/** The keys of what is shown, in place as soon as it is: an effect after painting would let a quick key reach the screen before it. */
export function useKeys(keys: Keys): void {
  useLayoutEffect(() => {
    layers.push(keys);
    return () => {
      layers.splice(layers.indexOf(keys), 1);
    };
  });
}
