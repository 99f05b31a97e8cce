import { defineConfig } from 'vitest/config'
import { compiledThreads } from './test/support/compiled-threads.js'

/** Files with several processes at once, or with a process that starts over and over: they keep a processor busy. */
const busy = [
  'attestation',
  'buyer-ledger',
  'clocks',
  'database',
  'deliveries',
  'directory-thread',
  'halves',
  'hooks',
  'hosted-replicas',
  'kill',
  'paused-replica',
  'pgbouncer',
  'replicas',
  'rolling-restart',
  'shrinking',
]

/**
 * `npm run test:faults:all` repeats these for other tokens and schemes. In the gate they run for `exact` over USDC: how a
 * transaction is sent and found again is the same code for all.
 */
const isWhole = process.env.FAULTS === 'all'
const kills = isWhole ? ['kill', 'rpc'] : []

/** What is true of USDC is true of any token: kills, lying nodes and third parties once more over EURC. */
const inEuros = isWhole ? ['kill', 'lanes', 'rpc'] : []

/** Payments by Permit2 have another call and other logs, those by `upto` a wallet of their own, and the same promises. */
const byUpto = [...kills, 'permit2', 'deliveries', 'crowd']
const byPermit2 = [...kills, 'permit2', 'crowd']

// The packages of this repository are tested from their sources.
const sources = { resolve: { tsconfigPaths: true }, plugins: [compiledThreads()] }

const filesOf = (names: readonly string[]) => names.map((name) => `test/faults/${name}.test.ts`)

const shared = {
  expect: { poll: { timeout: 15_000 } },
  testTimeout: 180_000,
  hookTimeout: 60_000,
  // Files run one after another in the same process, so that each module is loaded once.
  isolate: false,
  pool: 'forks',
} as const

export default defineConfig({
  test: {
    globalSetup: ['test/support/compiled-sources.ts'],
    // Faults are about time, so no file may wait for a processor. The others mostly wait for blocks.
    projects: [
      {
        ...sources,
        test: {
          ...shared,
          name: 'busy',
          include: filesOf(busy),
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        ...sources,
        test: {
          ...shared,
          name: 'waiting',
          include: ['test/faults/**/*.test.ts'],
          exclude: filesOf([...busy, 'permit2']),
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        ...sources,
        test: {
          ...shared,
          name: 'EURC',
          include: filesOf(inEuros),
          maxWorkers: 2,
          env: { FAULTS_TOKEN: 'EURC' },
          sequence: { groupOrder: 2 },
        },
      },
      {
        ...sources,
        test: {
          ...shared,
          name: 'upto',
          include: filesOf(byUpto),
          maxWorkers: 2,
          env: { FAULTS_SCHEME: 'upto' },
          sequence: { groupOrder: 2 },
        },
      },
      {
        ...sources,
        test: {
          ...shared,
          name: 'permit2',
          include: filesOf(byPermit2),
          maxWorkers: 2,
          env: { FAULTS_SCHEME: 'permit2' },
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
