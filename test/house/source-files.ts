import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  path: string
  text: string
  /** The folder below `src`, or the file's own name when it stands there itself. */
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
const IMPORT = /(?:from|import|require|import\()\s*\(?\s*['"]([^'"]+)['"]/g

export function readSources(folder = 'src'): SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readSource(`${folder}/${path.split(sep).join('/')}`))
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8')
  const imports = [...text.matchAll(IMPORT)].map((match) => readImport(path, match[1] as string))
  return { path, text, room: roomOf(path), imports }
}

function readImport(path: string, target: string): Import {
  if (!target.startsWith('.')) return { target, room: undefined }
  const absolute = normalize(join(root, dirname(path), target))
  const ours = relative(root, absolute).split(sep).join('/')
  return { target: ours, room: ours.startsWith('src/') ? roomOf(ours) : ours }
}

function roomOf(path: string): string {
  return (path.split('/')[1] as string).replace(/\.js$/, '.ts')
}
