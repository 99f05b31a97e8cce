/** Many tokens in one text: next to no memory beside the letters, and nothing for the collector to walk. */
export interface TokenChunk {
  text: string
  /** Where each token starts in the text, and where one after the last would. */
  starts: Uint32Array
  /** Which letters occur, by their code modulo 256. */
  letters: Uint32Array
}

export function createTokenChunk(tokens: readonly string[]): TokenChunk {
  const text = `${tokens.join('\n')}\n`
  const starts = new Uint32Array(tokens.length + 1)
  for (let i = 0; i < tokens.length; i++) {
    starts[i + 1] = (starts[i] as number) + (tokens[i] as string).length + 1
  }
  const letters = new Uint32Array(8)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i) & 255
    letters[code >>> 5] = (letters[code >>> 5] as number) | (1 << (code & 31))
  }
  return { text, starts, letters }
}

export function tokenAt({ text, starts }: TokenChunk, index: number): string {
  return text.slice(starts[index], (starts[index + 1] as number) - 1)
}

/** False when no token of the chunk has the letter; true is to be looked at. */
export function mayHaveLetter({ letters }: TokenChunk, letter: string): boolean {
  const code = letter.charCodeAt(0) & 255
  return (((letters[code >>> 5] as number) >>> (code & 31)) & 1) === 1
}

export function hasLetter({ text, starts }: TokenChunk, index: number, letter: string): boolean {
  const code = letter.charCodeAt(0)
  const end = (starts[index + 1] as number) - 1
  for (let at = starts[index] as number; at < end; at++) {
    if (text.charCodeAt(at) === code) return true
  }
  return false
}
