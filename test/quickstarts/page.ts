import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** A fenced block of a page: a command, or a file with the name that stands above it. */
export type Block = { kind: 'command'; text: string } | { kind: 'file'; name: string; text: string }

/** Reads the blocks of each `##` section of `docs/quickstarts/{name}.md`, by its title. */
export function readPage(name: string): Map<string, Block[]> {
  const text = readFileSync(join(root, `docs/quickstarts/${name}.md`), 'utf8')
  const sections = text.split(/^## /m).map((section) => {
    const [title = '', ...rest] = section.split('\n')
    return [title.trim(), blocksOf(rest.join('\n'))] as const
  })
  return new Map(sections)
}

function blocksOf(section: string): Block[] {
  const fences = section.matchAll(/(?:^`([^`\n]+)`:\n\n)?^```(sh|js)\n([\s\S]*?)^```$/gm)
  return [...fences].map(([, name, language, text = '']) => {
    if (language === 'sh') return { kind: 'command', text }
    if (name === undefined) throw new Error(`a file without a name: ${text.slice(0, 60)}`)
    return { kind: 'file', name, text }
  })
}
