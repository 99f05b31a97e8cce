import { readFile, stat } from 'node:fs/promises'
import { getAddress } from 'viem'
import type { EndpointHealth } from '../../store/listings.js'
import { type FiledMerchant, parseCatalogFile } from './catalog-file.js'
import type { Desk } from './desk.js'
import { officialProblem } from './mark.js'
import { Refusal } from './refusal.js'

export interface ImportOptions {
  /** Checks everything and writes nothing. */
  isDryRun: boolean
  /** Puts merchants of the file in place of those whose owners signed what stands. */
  replaces: boolean
}

/** JavaScript holds no longer text. */
const MAX_FILE_BYTES = 500_000_000
/** Written in one commit. */
const CHUNK = 200

/** Reads the file, checks it as a whole, then writes it. Resolves with what was done; throws a `Refusal`. */
export async function importMerchants(
  desk: Desk,
  path: string,
  { isDryRun, replaces }: ImportOptions,
): Promise<string> {
  const filed = readFiled(desk, path, await readText(path))
  const { added, replaced, signed, emptied } = await compare(desk, filed)
  if (emptied.length > 0) {
    throw new Refusal(
      `The file has no endpoints for ${named(emptied)}, which would take away those that stand: leave it out, or hide it. Nothing was written.`,
    )
  }
  if (signed.length > 0 && !replaces) {
    throw new Refusal(
      `The owners of ${named(signed)} signed what stands: leave them out, or say --replace. Nothing was written.`,
    )
  }
  if (!isDryRun) await save(desk, filed)
  const would = isDryRun ? 'would be ' : ''
  return `${added} ${would}added, ${replaced} ${would}replaced; every endpoint ${isDryRun ? 'would be' : 'is'} looked at anew`
}

function named(ids: readonly string[]): string {
  const rest = ids.length > 5 ? ` and ${ids.length - 5} more` : ''
  return `${ids.slice(0, 5).join(', ')}${rest}`
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES) throw new Error(`it has ${size} bytes, ${MAX_FILE_BYTES} are read`)
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new Refusal(`${path} cannot be read: ${(error as Error).message}.`)
  }
}

function readFiled({ config }: Desk, path: string, content: string): FiledMerchant[] {
  const parsed = parseCatalogFile(content, {
    assets: new Map(config.networks.map(({ network, asset }) => [network, asset])),
    officialProblem: (payTo) => officialProblem(payTo, config.buybackAddress),
  })
  if (parsed.ok) return parsed.merchants
  const { problems, count } = parsed
  const rest = count > problems.length ? `\n  and ${count - problems.length} more` : ''
  const told = problems.map((problem) => `\n  ${problem}`).join('')
  throw new Refusal(`${path} cannot be imported, and nothing was written:${told}${rest}`)
}

async function compare({ store }: Desk, filed: readonly FiledMerchant[]) {
  const signed: string[] = []
  const emptied: string[] = []
  let replaced = 0
  for (const { merchant, endpoints } of filed) {
    const present = await store.findMerchant(merchant.id)
    if (present === undefined) continue
    replaced++
    if (present.revision > 0) signed.push(merchant.id)
    const isEmptied = endpoints.length === 0 && (await store.endpointsOf(merchant.id)).length > 0
    if (isEmptied) emptied.push(merchant.id)
  }
  return { added: filed.length - replaced, replaced, signed, emptied }
}

async function save(desk: Desk, filed: readonly FiledMerchant[]): Promise<void> {
  const now = desk.now()
  for (let start = 0; start < filed.length; start += CHUNK) {
    await Promise.all(
      filed.slice(start, start + CHUNK).map(({ merchant, endpoints }) => {
        const drafts = endpoints.map((endpoint) => ({
          ...endpoint,
          ...healthOf(endpoint, merchant, now),
        }))
        return desk.store.saveByOperator(merchant, drafts, now)
      }),
    )
  }
}

/**
 * What a file says of an endpoint, and how it was found to be, is shown until the service has looked for itself, which
 * it does at once.
 */
function healthOf(
  { accepts, extras, price, status, failures, probe }: FiledMerchant['endpoints'][number],
  { network, asset, payTo }: FiledMerchant['merchant'],
  now: number,
): EndpointHealth {
  const listed = {
    scheme: 'exact',
    network,
    amount: price.toString(),
    asset: getAddress(asset),
    payTo: getAddress(payTo),
    maxTimeoutSeconds: 300,
  }
  return {
    accepts: accepts.length > 0 ? accepts : [listed],
    extras,
    status,
    probe,
    failures,
    nextProbeAt: now,
  }
}
