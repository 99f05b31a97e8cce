import { readFileSync } from 'node:fs'

const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string; gitHead?: string }

/** The version of this software, as in its `package.json`. */
export const { version } = manifest
/** The commit that a layout was made from; `undefined` in a checkout. */
export const revision = manifest.gitHead
