import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'

export type ChildExit = { code: number | null; signal: NodeJS.Signals | null }

export type Child = {
  /** Asks with SIGTERM and insists with SIGKILL after the grace; resolves once the process is gone. */
  stop(): Promise<void>
  /** Resolves when the process ends, for whatever reason, also when it could not be started. */
  exited: Promise<ChildExit>
  isGone(): boolean
}

/**
 * A shell that keeps the numbers of our children and kills them once its input is closed. The system closes it
 * however this process ends, so not even SIGKILL leaves a child behind.
 */
const guardScript = `
trap '' HUP INT TERM
ids=
while read -r change id; do
  rest=
  for it in $ids; do [ "$it" = "$id" ] || rest="$rest $it"; done
  [ "$change" = add ] && rest="$rest $id"
  ids=$rest
done
[ -n "$ids" ] && kill -KILL $ids 2>/dev/null
exit 0`

let guard: ChildProcess | undefined

/** Takes care of a spawned process: it ends with ours at the latest, whatever ends ours. */
export function superviseChild(child: ChildProcess, graceMs: number): Child {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  tellGuard('add', child.pid)
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: null, signal: null }))
  })
  void exited.then(() => {
    process.removeListener('exit', kill)
    tellGuard('remove', child.pid)
  })
  const isGone = () =>
    child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  const stop = async () => {
    if (isGone()) return
    const force = setTimeout(kill, graceMs)
    child.kill('SIGTERM')
    await exited
    clearTimeout(force)
  }
  return { stop, exited, isGone }
}

function tellGuard(change: 'add' | 'remove', pid: number | undefined): void {
  if (pid === undefined) return
  guard ??= startGuard()
  guard.stdin?.write(`${change} ${pid}\n`)
}

/** Without a shell on this system only SIGKILL leaves children behind. */
function startGuard(): ChildProcess {
  // A group of its own: a signal to ours, as Ctrl-C is, does not reach it.
  const shell = spawn('sh', ['-c', guardScript], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  shell.on('error', () => {})
  shell.stdin?.on('error', () => {})
  shell.unref()
  ;(shell.stdin as Socket | null)?.unref()
  return shell
}
