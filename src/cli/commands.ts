import type { Command } from './command-line.js'

interface Verb {
  /** What it does, as the help of `arcus` says it. */
  summary: string
  /** Loads its code. `undefined` for those of developers in a bundle without them. */
  load(): Promise<{ command: Command | undefined }>
  /** True for a command that runs without settings: it reads no `.env`. */
  needsNoSettings?: true
  /** Whether it belongs to the local chain: it reads no `.env`, and production does not have it. */
  isForDevelopers?: true
}

/** Every verb of `arcus`. Each loads its own code alone, so that a start reads no more than it needs. */
export const verbs: Readonly<Record<string, Verb>> = {
  init: {
    summary: 'writes .env and the keys of the relayers',
    load: () => import('./init.js'),
    needsNoSettings: true,
  },
  serve: { summary: 'runs the service', load: () => import('./serve.js') },
  doctor: {
    summary: 'checks everything a payment depends on',
    load: () => import('./doctor.js'),
  },
  merchants: {
    summary: 'lists, marks, hides and blocks, and shows who decided what',
    load: () => import('./merchants.js'),
  },
  backup: { summary: 'copies a SQLite database', load: () => import('./backup.js') },
  restore: { summary: 'puts a backup in its place', load: () => import('./restore.js') },
  migrate: {
    summary: 'copies a SQLite database into PostgreSQL',
    load: () => import('./migrate.js'),
  },
  reconcile: {
    summary: 'compares the journal with the chain, and rebuilds it',
    load: () => import('./reconcile.js'),
  },
  'deploy-contracts': {
    summary: 'puts missing contracts on chain',
    load: () => import('./deploy-contracts.js'),
  },
  dev: {
    summary: 'runs a local chain, Arcus and a sample paid API',
    load: () => import('./dev.js'),
    isForDevelopers: true,
  },
  pay: {
    summary: 'pays the sample API with the official client',
    load: () => import('./pay.js'),
    isForDevelopers: true,
  },
}
