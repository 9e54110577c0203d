/** A list of any length of which only the rows in sight are made. All rows have one height. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly label: string;
  /** The row that the keyboard is at; it is kept in sight. */
  readonly chosen: number;
  readonly onRange: (first: number, last: number) => void;
  readonly row: (index: number) => ComponentChildren;
}

/** Rows that are made beyond those in sight, on both sides. */
const beyond = 10;
const viewHeight = 560;

export function VirtualList({ count, rowHeight, label, chosen, onRange, row }: VirtualListProps) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const first = Math.max(0, Math.floor(top / rowHeight) - beyond);
  const last = Math.min(count, Math.ceil((top + viewHeight) / rowHeight) + beyond);
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
      onScroll={() => setTop(place.current?.scrollTop ?? 0)}
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
            {row(index)}
          </li>
        ))}
      </ol>
    </div>
  );
}
