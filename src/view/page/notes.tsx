/** Notes pinned to a view: the address that is shown, and a text. Home lists them all; each leads back to its view. */
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { messageOf, visible, visibleLine } from '../../base/index.ts';
import type { ListedNote } from '../api.ts';
import { address, linkTo, screens } from './address.ts';
import { changeWriter, giveNote, isInMemory, useNotes, writerName, writtenCount, writtenLines } from './human-store.ts';
import { Answered, Button, LeftOut } from './parts.tsx';
import { save } from './text.tsx';

function viewOf({ screen, id, parameters }: ListedNote): string {
  const known = screens.find((name) => name === screen) ?? 'home';
  return linkTo(known, id, { state: null, ...Object.fromEntries(new URLSearchParams(parameters)) });
}

export function SignedField({ usual }: { readonly usual: string }) {
  const change = (event: { readonly currentTarget: HTMLInputElement }) => changeWriter(event.currentTarget.value);
  return (
    <label>
      signed <input type="text" size={12} maxLength={60} value={writerName.value || usual} onChange={change} />
    </label>
  );
}

export function NotePanel({ onClose }: { readonly onClose: () => void }) {
  const answer = useNotes();
  const { screen, id } = address.value;
  return (
    <aside aria-label="notes">
      <Answered answer={answer}>
        {({ writer, notes }) => (
          <>
            <NoteForm usual={writer} onClose={onClose} />
            <NoteList notes={notes.filter((note) => note.screen === screen && note.id === id)} />
          </>
        )}
      </Answered>
    </aside>
  );
}

function NoteForm({ usual, onClose }: { readonly usual: string; readonly onClose: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const failed = useSignal('');
  const pin = async () => {
    const text = field.current?.value.trim() ?? '';
    if (text === '') return;
    const { screen, id, parameters } = address.value;
    try {
      await giveNote(id, { screen, parameters: `${parameters}`, text, writer: writerName.value || usual });
      onClose();
    } catch (error) {
      failed.value = messageOf(error);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void pin();
      }}
    >
      <label>
        a note on this view
        <textarea ref={field} rows={3} maxLength={4000} />
      </label>
      <p>
        <SignedField usual={usual} /> <button type="submit">pin</button> <span role="alert">{failed.value}</span>
      </p>
    </form>
  );
}

function NoteList({ notes }: { readonly notes: readonly ListedNote[] }) {
  return (
    <ul class="notes">
      {notes.map((note) => (
        <li key={`${note.at} ${note.id} ${note.text}`}>
          <span class="text">{visible(note.text)}</span>{' '}
          <a href={viewOf(note)}>
            {note.screen} {note.id}
          </a>{' '}
          <span class="quiet">
            {visibleLine(note.writer)}, {visibleLine(note.at.slice(0, 16).replace('T', ' '))}
          </span>
        </li>
      ))}
    </ul>
  );
}

export function Notes() {
  return (
    <Answered answer={useNotes()}>
      {({ notes, leftOut = [] }) =>
        notes.length + leftOut.length > 0 && (
          <section>
            <h2>Notes</h2>
            <LeftOut words="Not read" runs={leftOut} />
            <NoteList notes={notes} />
          </section>
        )
      }
    </Answered>
  );
}

export function WrittenDownload() {
  if (!isInMemory || writtenCount.value === 0) return null;
  const words = `download what you wrote: ${writtenCount.value}`;
  return <Button words={words} press={() => save(writtenLines(), 'written.jsonl')} />;
}
