import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  path: string
  text: string
  /** The folder below `src`, the name of a file in `src` itself, or `packages/NAME`. */
  room: string
  imports: Import[]
}

export interface Import {
  /** The import as written, or the path from the root for a file of ours. */
  target: string
  /** The room of ours it leads to. */
  room: string | undefined
}

/** Everything that is imported, re-exported or loaded later, types included. */
const IMPORT = /\b(?:from|import|require|import\()\s*\(?\s*['"]([^'"\s]+)['"]/g

/** Reads the sources of a folder; without one, those of the service and of every package. */
export function readSources(folder?: string): SourceFile[] {
  if (folder === undefined) return [...readSources('src'), ...readSources('packages')]
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.split(sep).join('/')}`)
    .filter((path) => /\.tsx?$/.test(path) && /^(src|packages\/[\w-]+\/src)\//.test(path))
    .map(readSource)
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8')
  const imports = [...text.matchAll(IMPORT)]
    .map((match) => match[1] as string)
    // A document that the console shows is no code.
    .filter((target) => !target.endsWith('.md?raw'))
    .map((target) => readImport(path, target))
  return { path, text, room: roomOf(path), imports }
}

function readImport(path: string, target: string): Import {
  const [, name] = /^@arcus\/([\w-]+)/.exec(target) ?? []
  if (name !== undefined) return { target, room: `packages/${name}` }
  if (!target.startsWith('.')) return { target, room: undefined }
  const absolute = normalize(join(root, dirname(path), target))
  const ours = relative(root, absolute).split(sep).join('/')
  return { target: ours, room: /^(src|packages)\//.test(ours) ? roomOf(ours) : ours }
}

function roomOf(path: string): string {
  if (path.startsWith('packages/')) return path.split('/').slice(0, 2).join('/')
  return (path.split('/')[1] as string).replace(/\.js$/, '.ts')
}
