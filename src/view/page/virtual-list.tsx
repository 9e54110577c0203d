/** A list of any length of which only the rows in sight are made. All rows have one height. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps<Item> {
  readonly count: number;
  readonly rowHeight: number;
  readonly label: string;
  readonly chosen: number;
  readonly onRange: (first: number, last: number) => void;
  readonly itemAt: (index: number) => Item | undefined;
  readonly show: (item: Item | undefined) => ComponentChildren;
}

const beyond = 6;
const viewHeight = 560;

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { count, rowHeight, label, chosen, onRange, itemAt, show } = props;
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const first = Math.max(0, top - beyond);
  const last = Math.min(count, top + Math.ceil(viewHeight / rowHeight) + 1 + beyond);
  useEffect(() => onRange(first, last));
  useEffect(() => {
    const element = place.current;
    if (element === null || chosen < 0) return;
    const at = chosen * rowHeight;
    if (at < element.scrollTop) element.scrollTop = at;
    if (at + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = at + rowHeight - element.clientHeight;
  }, [chosen, rowHeight]);
  const indices = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  return (
    <div
      class="virtual"
      ref={place}
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={() => setTop(Math.floor((place.current?.scrollTop ?? 0) / rowHeight))}
    >
      <ol style={{ height: `${count * rowHeight}px` }}>
        {indices.map((index) => (
          <li
            key={index}
            class={index === chosen ? 'at' : ''}
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
            aria-setsize={count}
            aria-posinset={index + 1}
          >
            {show(itemAt(index))}
          </li>
        ))}
      </ol>
    </div>
  );
}
