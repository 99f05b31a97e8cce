import type { FacilitatorStatus } from '@arcus/protocol/answers/service'
import type { FacilitatorClient } from '@x402/core/server'
import type { TaskFigures } from '../../async/background.js'
import type { Directory } from '../../directory/directory.js'
import type { DescribedRoute } from '../../http/operation.js'
import type { ClockAhead } from '../../sql/leases.js'
import type { Config } from '../config/config.js'
import type { Secrets } from '../config/secrets.js'

/** The keys that the directory has a use for. Those of the relayers stay on the main thread. */
export type DirectorySecrets = Pick<
  Secrets,
  | 'hostedPrivateKey'
  | 'attestationPrivateKey'
  | 'checkPrivateKeys'
  | 'webhookKey'
  | 'operatorWebhook'
>

/** The values with which the thread is started. */
export interface DirectoryThreadData {
  config: Config
  secrets: DirectorySecrets
  /** The address at which the directory listens. */
  socketPath: string
  /** The memory by which the two threads take turns at writing the file; absent on PostgreSQL. */
  turnFlags: SharedArrayBuffer | undefined
  /** Whether the facilitator is in this process; it is asked over HTTP otherwise. */
  hasFacilitator: boolean
  /** The routes that the main thread serves, for the description of the service. */
  mainRoutes: readonly DescribedRoute[]
}

/** What the directory asks the facilitator, by message or over HTTP. */
export interface FacilitatorCalls {
  verify: (payload: unknown, requirements: unknown) => Promise<unknown>
  settle: (payload: unknown, requirements: unknown) => Promise<unknown>
  supported: () => Promise<unknown>
  status: () => Promise<FacilitatorStatus>
}

/** The figures of the directory that metrics show. */
export interface DirectoryFigures {
  /** The number of endpoints of the catalog in memory, and how long reading it took. */
  index: { endpoints: number; readSeconds: number }
  probes: { queued: number; underWay: number }
  /** Answers that could not be kept since the start of the thread. */
  dropped: number
  /** How all that it does by itself went since the start of the thread. */
  tasks: TaskFigures[]
  leases: {
    isRenewed: boolean
    /** Milliseconds; `undefined` where leases need no renewal. */
    ageMs: number | undefined
    clockAhead: ClockAhead
  }
  /** What the paid checks found; `undefined` where nothing is bought, or it could not be read. */
  checks: Awaited<ReturnType<NonNullable<Directory['figures']['checks']>>> | undefined
}

/** What the directory may ask the facilitator. */
export interface AskFacilitator {
  /** Like a client over HTTP. Calls wait until `started` resolves. */
  client(started: Promise<void>): FacilitatorClient
  readStatus(): Promise<FacilitatorStatus>
}

/** A question of the thread. Its answer has the same id. */
export interface FacilitatorQuestion {
  kind: 'question'
  id: number
  name: keyof FacilitatorCalls
  args: readonly unknown[]
}

/** The end of a question. An error of verify or settle carries the status and the body of its answer. */
export type FacilitatorReply =
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'answer'; id: number; message: string; status?: number; body?: unknown }

/** A message from the thread. `ready` comes once it listens, `beat` every second from then on. */
export type FromDirectory =
  | FacilitatorQuestion
  | { kind: 'ready' }
  | { kind: 'beat'; figures: DirectoryFigures }
  | { kind: 'log'; line: string }
  /** It cannot start, and trying again does not help. */
  | { kind: 'failed'; name: string; message: string }
