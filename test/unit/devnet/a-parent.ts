import { spawn } from 'node:child_process'
import { superviseChild } from '../../../src/devnet/process.js'

/** Starts two children, ends one of them in order, says their numbers and waits for its own end. */
const [first, second] = ['60', '61'].map((seconds) => spawn('sleep', [seconds]))
if (first === undefined || second === undefined) throw new Error('no children')
superviseChild(first, 1_000)
await superviseChild(second, 1_000).stop()
process.stdout.write(`${first.pid} ${second.pid}\n`)
setInterval(() => {}, 1_000)
