import { readFileSync } from 'node:fs'

const LOOK_MS = 500

/**
 * npm keeps SIGTERM from what it started, and when it is killed its command lives on, with the port and the wallets.
 * Calls back once when the parent, or on Linux its parent, is another than at the start.
 */
export function watchParents(onGone: () => void): void {
  const before = parents()
  const timer = setInterval(() => {
    if (parents() === before) return
    clearInterval(timer)
    onGone()
  }, LOOK_MS)
  timer.unref()
}

/** Between npm and its command there may be a shell. */
function parents(): string {
  const parent = process.ppid
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, 'latin1')
    // The name of a process may have blanks and brackets; its state and parent follow.
    const [, grandparent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return `${parent} ${grandparent}`
  } catch {
    return String(parent)
  }
}
