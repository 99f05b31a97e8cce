import { readdirSync, readFileSync } from 'node:fs'

/** Processor time of a process since its start, in seconds, as Linux reports it. */
export interface ProcessorTime {
  /** The time of all its threads. */
  all: number
  /** The time of the thread that it began with. */
  main: number
}

const none: ProcessorTime = { all: 0, main: 0 }

/** Returns the sums over some processes; one that is gone counts nothing. */
export function processorTimeOf(pids: readonly number[]): ProcessorTime {
  return pids
    .map(readProcess)
    .reduce((sum, it) => ({ all: sum.all + it.all, main: sum.main + it.main }), none)
}

function readProcess(pid: number): ProcessorTime {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map((thread) => readThread(pid, thread))
    return { all: threads.reduce((sum, it) => sum + it, 0), main: readThread(pid, `${pid}`) }
  } catch {
    return none
  }
}

/** The first number of `schedstat` is the time that a thread ran, in nanoseconds. */
function readThread(pid: number, thread: string): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e9
}
