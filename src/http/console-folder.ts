import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of the built console, seen from the root of the project or of an installation. */
export const CONSOLE_FOLDER = 'dist/console'

/** The same folder seen from `src/http` and from `dist/http`. */
export const builtConsole = fileURLToPath(new URL(`../../${CONSOLE_FOLDER}/`, import.meta.url))

export function isConsoleBuilt(folder = builtConsole): boolean {
  return existsSync(`${folder}/index.html`)
}
