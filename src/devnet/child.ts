import type { ChildProcess } from 'node:child_process'

export type ChildExit = { code: number | null; signal: NodeJS.Signals | null }

export type Child = {
  /** Asks with SIGTERM and insists with SIGKILL after the grace; resolves once the process is gone. */
  stop(): Promise<void>
  /** Resolves when the process ends, for whatever reason, also when it could not be started. */
  exited: Promise<ChildExit>
  isGone(): boolean
}

/** Takes care of a spawned process: it ends with ours at the latest, whatever ends ours save SIGKILL. */
export function superviseChild(child: ChildProcess, graceMs: number): Child {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: null, signal: null }))
  })
  void exited.then(() => process.removeListener('exit', kill))
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
