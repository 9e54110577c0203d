/** A code block of a response. All blocks together, in order, are its program; a response without one has no program. */
const fencedBlock = /```(?:python|py)?[ \t]*\r?\n([\s\S]*?)(?:```|$)/gi;

export function extractProgram(response: string): string | null {
  const blocks = [...response.matchAll(fencedBlock)]
    .map((match) => match[1].trimEnd())
    .filter((code) => code.trim() !== '');
  return blocks.length === 0 ? null : `${blocks.join('\n\n')}\n`;
}

/** Whether UTF-8 cannot encode the text; Python could not read it either. */
export function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
