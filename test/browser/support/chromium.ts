import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** Names of the program on Debian and elsewhere. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const advice = 'install it (Debian: apt-get install -y chromium), or name it in CHROMIUM_PATH'

/** Finds `CHROMIUM_PATH`, else the first Chromium on the `PATH`. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = env.CHROMIUM_PATH
  if (named !== undefined && named !== '') return named
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isProgram)
}

/**
 * Returns the reason why browser tests cannot run here, `undefined` if they can. Throws if `CI` is set and no browser is
 * there, because skipped tests must not pass for a success in CI.
 */
export function reasonToSkip(env: NodeJS.ProcessEnv = process.env): string | undefined {
  if (findChromium(env) !== undefined) return undefined
  if (env.CI !== undefined && env.CI !== '') throw new Error(`There is no Chromium: ${advice}.`)
  return `no Chromium: ${advice}`
}

/** Starts a browser with a fresh profile. */
export function launchChromium(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error(`There is no Chromium: ${advice}.`)
  return chromium.launch({ executablePath, headless: true, args: flags })
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
