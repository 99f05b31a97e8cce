import { defineConfig } from 'vitest/config'
import { findChromium } from './test/browser/support/chromium.js'
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

const filesOf = (names: readonly string[]) => names.map((name) => `test/faults/${name}.test.ts`)

/** Skipped without a Chromium, but for CI: there `built-console.ts` refuses to start. */
const canBrowse = findChromium() !== undefined || Boolean(process.env.CI)

/** The packages of this repository are tested from their sources. */
const sources = { resolve: { tsconfigPaths: true }, plugins: [compiledThreads()] }

const patient = {
  // A busy machine is slow to show what is waited for.
  expect: { poll: { timeout: 15_000 } },
  // Files run one after another in the same process, so that each module is loaded once.
  isolate: false,
  pool: 'forks',
} as const

/** Faults are about time, so no file may wait for a processor. */
const faults = { ...patient, testTimeout: 180_000, hookTimeout: 60_000, maxWorkers: 2 } as const

/** One project for each suite; the scripts of `package.json` choose. A file that is named runs in the projects that have it. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/compiled-sources.ts'],
    // The official packages print this line for each answer of a facilitator.
    onConsoleLog: (text) => !text.startsWith('[x402] extension responses'),
    projects: [
      {
        ...sources,
        test: {
          ...patient,
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/faults/**',
            'test/browser/**',
            'test/soak/**',
            'test/mutants/**',
            'test/**/*.postgres.test.ts',
          ],
          // Bounds for what hangs: on a busy machine everything takes three times as long.
          testTimeout: 90_000,
          hookTimeout: 120_000,
          // A file mostly waits: for blocks, processes and streams. Three at once keep two processors busy.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // The contracts of the stores and several replicas, on a real PostgreSQL.
        ...sources,
        test: {
          ...patient,
          name: 'postgres',
          include: ['test/**/*.postgres.test.ts'],
          testTimeout: 90_000,
          hookTimeout: 150_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Real Chromium against the real service. Each file starts a chain, a service and a browser of its own.
        ...sources,
        test: {
          ...patient,
          name: 'browser',
          include: canBrowse ? ['test/browser/**/*.test.ts'] : [],
          globalSetup: ['test/browser/support/built-console.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // Pages mostly wait for the network.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        ...sources,
        test: {
          ...faults,
          name: 'faults-busy',
          include: filesOf(busy),
          sequence: { groupOrder: 3 },
        },
      },
      {
        // They mostly wait for blocks.
        ...sources,
        test: {
          ...faults,
          name: 'faults-waiting',
          include: ['test/faults/**/*.test.ts'],
          exclude: filesOf([...busy, 'permit2']),
          maxWorkers: 3,
          sequence: { groupOrder: 4 },
        },
      },
      {
        ...sources,
        test: {
          ...faults,
          name: 'faults-EURC',
          include: filesOf(inEuros),
          env: { FAULTS_TOKEN: 'EURC' },
          sequence: { groupOrder: 5 },
        },
      },
      {
        ...sources,
        test: {
          ...faults,
          name: 'faults-upto',
          include: filesOf(byUpto),
          env: { FAULTS_SCHEME: 'upto' },
          sequence: { groupOrder: 5 },
        },
      },
      {
        ...sources,
        test: {
          ...faults,
          name: 'faults-permit2',
          include: filesOf(byPermit2),
          env: { FAULTS_SCHEME: 'permit2' },
          sequence: { groupOrder: 5 },
        },
      },
      {
        // The pages of `docs/quickstarts`, typed as they stand. It installs from the registry.
        resolve: sources.resolve,
        test: {
          name: 'quickstarts',
          include: ['test/quickstarts/*.quickstart.ts'],
          // Installations of a dozen shops, on a busy machine and from a slow registry.
          testTimeout: 900_000,
          hookTimeout: 900_000,
          fileParallelism: false,
          pool: 'forks',
          sequence: { groupOrder: 6 },
        },
      },
      {
        // Only `npm run soak` starts it; its file says what it takes.
        resolve: sources.resolve,
        test: {
          name: 'soak',
          include: process.env.SOAK_MINUTES === undefined ? [] : ['test/soak/**/*.test.ts'],
          hookTimeout: 60_000,
          pool: 'forks',
          sequence: { groupOrder: 7 },
        },
      },
    ],
  },
})
