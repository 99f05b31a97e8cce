import { open, rename, rm } from 'node:fs/promises'
import { HOSTED_MERCHANT } from '../../hosted/listing.js'
import type { Endpoint, Merchant } from '../../store/listings.js'
import { FILE_FORMAT, FILE_VERSION } from './catalog-file.js'
import { type Desk, everyMerchant } from './desk.js'
import { Refusal } from './refusal.js'

/** Endpoints read at once. */
const PAGE = 1_000

/**
 * Writes every merchant that stands, hidden ones too, and says how many. Signed messages stay in the database, and so
 * does what the service hosts, which each service lists for itself. They come in the order of their first endpoints, so
 * that a catalog made of the file begins with what this one does.
 */
export async function exportMerchants(
  desk: Desk,
  write: (piece: string) => Promise<unknown> | unknown,
): Promise<number> {
  const exportedAt = new Date(desk.now() * 1000).toISOString()
  const head = JSON.stringify({ format: FILE_FORMAT, version: FILE_VERSION, exportedAt })
  await write(`${head.slice(0, -1)},"merchants":[`)
  let count = 0
  for (const id of await readOrder(desk)) {
    const merchant = await desk.store.findMerchant(id)
    if (merchant === undefined || merchant.deletedAt !== null || id === HOSTED_MERCHANT) continue
    const endpoints = await desk.store.endpointsOf(id)
    await write(`${count === 0 ? '' : ','}\n${JSON.stringify(toFiled(merchant, endpoints))}`)
    count++
  }
  await write('\n]}\n')
  return count
}

/** Those without endpoints come last. */
async function readOrder(desk: Desk): Promise<Iterable<string>> {
  const ids = new Set<string>()
  let page = await desk.store.scanOutline(0, PAGE)
  while (page.length > 0) {
    for (const { merchantId } of page) ids.add(merchantId)
    page = await desk.store.scanOutline(page.at(-1)?.id ?? 0, PAGE)
  }
  for await (const { merchant } of everyMerchant(desk)) ids.add(merchant.id)
  return ids
}

/** The same into a file, which is there whole or not at all. */
export async function exportToFile(desk: Desk, path: string): Promise<string> {
  const draft = `${path}.${process.pid}.part`
  const handle = await open(draft, 'w', 0o600).catch((error) => {
    throw new Refusal(`${path} cannot be written: ${(error as Error).message}.`)
  })
  try {
    const count = await exportMerchants(desk, (piece) => handle.write(piece))
    await handle.sync()
    await handle.close()
    await rename(draft, path)
    return `${count} ${count === 1 ? 'merchant' : 'merchants'} written to ${path}`
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(draft, { force: true })
    throw new Refusal(`${path} cannot be written: ${(error as Error).message}.`)
  }
}

function toFiled(merchant: Merchant, endpoints: Endpoint[]) {
  const { id, owner, name, description, network, asset, payTo } = merchant
  const { isOfficial, isPartner, hiddenReason } = merchant
  const marks = { isOfficial, isPartner, hiddenReason }
  const { confirmation, agentId } = merchant
  const signed = { confirmation, agentId }
  const listing = { id, owner, name, description, network, asset, payTo, ...signed, ...marks }
  return { ...listing, endpoints: endpoints.map(toFiledEndpoint) }
}

function toFiledEndpoint(endpoint: Endpoint) {
  const { url, method, title, description, pricing, price, tags } = endpoint
  const { example, inputSchema, output, isHosted, extras, accepts } = endpoint
  const { status, failures, probe } = endpoint
  const listed = { url, method, title, description, pricing, price: price.toString(), tags }
  const health = { status, failures, probe }
  return { ...listed, example, inputSchema, output, isHosted, extras, accepts, ...health }
}
