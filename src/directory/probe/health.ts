import type { Stablecoin } from '@arcus/protocol/x402/currencies'
import { type Address, getAddress } from 'viem'
import type { EndpointHealth, StoredEndpoint } from '../store/listings.js'
import type { ProbeResult } from './probe.js'

/** Time between two probes of a healthy endpoint. */
const HEALTHY_SECONDS = 6 * 3_600
/** Time until the probe after a first failure; each further failure doubles it. */
const FIRST_RETRY_SECONDS = 5 * 60
const LAST_RETRY_SECONDS = 24 * 3_600
/** Failures in a row that make an endpoint `failing`. */
const FAILURES_TO_FAILING = 3
/** A second failure sooner than this, found on request, counts as the same failure. */
const SAME_FAILURE_SECONDS = 240
/** Each wait is made longer or shorter by up to this share, which spreads the probes. */
const JITTER = 0.2

interface ListedTerms {
  network: string
  asset: Pick<Stablecoin, 'address' | 'name' | 'version'>
  payTo: Address
  price: bigint
}

/** Returns the health of an endpoint before its first probe: it shows the terms of the listing. */
export function freshHealth({ network, asset, payTo, price }: ListedTerms): EndpointHealth {
  const { address, name, version } = asset
  const listed = {
    scheme: 'exact',
    network,
    amount: price.toString(),
    asset: getAddress(address),
    payTo: getAddress(payTo),
    maxTimeoutSeconds: 300,
    extra: { name, version },
  }
  const unseen = { extras: {}, status: 'unverified', probe: null, failures: 0 } as const
  return { accepts: [listed], ...unseen, nextProbeAt: null }
}

/**
 * Returns the health after a probe: `FAILURES_TO_FAILING` failures in a row make an endpoint `failing`, and one success makes
 * it `live` again. A failure keeps the terms of the last live answer. What is never called stays unverified. `nowSeconds` is
 * Unix time, `random` gives 0 to 1.
 */
export function nextHealth(
  previous: EndpointHealth,
  { record, accepts, extras }: Pick<ProbeResult, 'record' | 'accepts' | 'extras'>,
  nowSeconds: number,
  random: () => number,
): EndpointHealth {
  const after = (seconds: number) => nowSeconds + jittered(seconds, random)
  if (record.verdict === 'live') {
    const nextProbeAt = after(HEALTHY_SECONDS)
    return { accepts, extras, status: 'live', probe: record, failures: 0, nextProbeAt }
  }
  if (record.verdict === 'not_called') {
    return { ...previous, status: 'unverified', probe: record, failures: 0, nextProbeAt: null }
  }
  const failures = previous.failures + 1
  return {
    accepts: previous.accepts,
    extras: previous.extras,
    status: failures >= FAILURES_TO_FAILING ? 'failing' : previous.status,
    probe: record,
    failures,
    nextProbeAt: Math.min(after(retrySeconds(failures)), nowSeconds + LAST_RETRY_SECONDS),
  }
}

function retrySeconds(failures: number): number {
  return Math.min(FIRST_RETRY_SECONDS * 2 ** Math.min(failures - 1, 20), LAST_RETRY_SECONDS)
}

function jittered(seconds: number, random: () => number): number {
  return Math.round(seconds * (1 - JITTER + 2 * JITTER * random()))
}

/** Merges failures close together: three requests in a minute must not make an endpoint `failing`. */
export function asOneFailure(previous: StoredEndpoint, next: EndpointHealth): EndpointHealth {
  const { failures, status, nextProbeAt, probe } = previous
  if (next.failures === 0 || failures === 0 || probe === null || next.probe === null) return next
  if (next.probe.checkedAt - probe.checkedAt >= SAME_FAILURE_SECONDS) return next
  return { ...next, failures, status, nextProbeAt }
}
