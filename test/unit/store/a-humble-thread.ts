import { readlinkSync } from 'node:fs'
import { getPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '../../../src/sql/thread.js'

const isLowered = lowerThreadPriority()
const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
parentPort?.postMessage({ isLowered, mine: getPriority(thread), main: getPriority(process.pid) })
