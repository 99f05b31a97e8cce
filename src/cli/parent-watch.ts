import { readFileSync } from 'node:fs'

const LOOK_MS = 500

/** Whether npm itself runs this script; whatever else it runs hands its environment on to what it starts. */
export function isRunByNpm(script: string): boolean {
  return process.env.npm_lifecycle_script?.includes(script) ?? false
}

/**
 * npm keeps SIGTERM from what it started, and when it is killed its command lives on, with the port and the wallets.
 * Calls back once npm is gone, or the shell between it and this process. Who started npm may go.
 */
export function watchNpm(onGone: () => void): void {
  const parent = process.ppid
  const above = readProcess(parent)
  const isShell = above !== undefined && !above.name.startsWith('npm')
  const timer = setInterval(() => {
    const isParentThere = process.ppid === parent
    const isNpmThere = !isShell || readProcess(parent)?.parent === above.parent
    if (isParentThere && isNpmThere) return
    clearInterval(timer)
    onGone()
  }, LOOK_MS)
  timer.unref()
}

/** Of Linux alone: elsewhere only the parent itself is watched. */
function readProcess(id: number): { name: string; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'latin1')
    // The name of a process may have blanks and brackets; its state and parent follow.
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return {
      name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
      parent: Number(parent),
    }
  } catch {
    return undefined
  }
}
