import { siteOf } from '../src/directory/store/site.js'
import { openDatabase } from '../src/sql/sqlite/database.js'
import { type Corpus, createCorpus } from './discovery-corpus.js'

/** Fills a new database with a made-up catalog: `tsx bench/discovery-seed.ts FILE ENDPOINTS`. */
const [file, count] = process.argv.slice(2) as [string, string]
const CREATED_AT = 1_700_000_000
const ROWS_A_COMMIT = 20_000
const network = 'eip155:5042'
const asset = '0x3600000000000000000000000000000000000000'

const database = openDatabase(file)
database.pragma('synchronous = OFF')
seed(createCorpus(Number(count)))
database.close()

function seed(corpus: Corpus): void {
  const insertMerchant = database.prepare(
    `INSERT INTO merchants (id, owner, name, description, network, asset, pay_to, revision, is_official,
       is_partner, name_look, named_with, created_at, updated_at)
     VALUES (@id, @payTo, @name, @about, @network, @asset, @payTo, 1, @isOfficial, 0, '', 0, @createdAt, @createdAt)`,
  )
  const insertEndpoint = database.prepare(
    `INSERT INTO endpoints (merchant_id, position, url, site, method, tool_name, title, description, pricing, price, asset, symbol,
       tags, example, input_schema, output, extras, is_hosted, accepts, status, failures, last_updated, created_at)
     VALUES (@merchantId, @position, @url, @site, @method, '', @title, @description, @pricing, @price, '${asset}', 'USDC',
       @tags, @example, @inputSchema, '{"type":"json"}', '{}', 0, @accepts, @status, 0, @createdAt, @createdAt)`,
  )
  const insertUsage = database.prepare(
    `INSERT INTO endpoint_usage (endpoint_id, version, figures) VALUES (?, ?, ?)`,
  )
  const insertAll = database.transaction((from: number, to: number) => {
    for (let endpoint = from; endpoint < to; endpoint++) {
      const merchant = corpus.merchantOf(endpoint)
      if (endpoint === 0 || corpus.merchantOf(endpoint - 1) !== merchant) {
        insertMerchant.run(merchantRow(corpus, merchant))
      }
      const { lastInsertRowid: id } = insertEndpoint.run(endpointRow(corpus, endpoint))
      insertUsage.run(id, id, JSON.stringify(usageOf(endpoint)))
    }
  })
  for (let from = 0; from < corpus.endpoints; from += ROWS_A_COMMIT) {
    insertAll(from, Math.min(from + ROWS_A_COMMIT, corpus.endpoints))
  }
  database.pragma('wal_checkpoint(TRUNCATE)')
}

function merchantRow(corpus: Corpus, merchant: number) {
  return {
    id: merchantId(merchant),
    payTo: payTo(merchant),
    name: corpus.merchantName(merchant),
    about: corpus.merchantAbout(merchant),
    network,
    asset,
    isOfficial: merchant % 50 === 0 ? 1 : 0,
    createdAt: CREATED_AT + merchant,
  }
}

function endpointRow(corpus: Corpus, endpoint: number) {
  const merchant = corpus.merchantOf(endpoint)
  const amount = String(1_000 + (endpoint % 97) * 500)
  const isPost = endpoint % 4 === 3
  const schema = {
    type: 'object',
    properties: { city: { type: 'string', minLength: 1 }, days: { type: 'integer', maximum: 14 } },
    required: ['city'],
  }
  const url = `https://api-${merchant}.example.com/v1/${corpus.path(endpoint)}`
  return {
    merchantId: merchantId(merchant),
    position: endpoint % 10,
    url,
    site: siteOf(url),
    method: isPost ? 'POST' : 'GET',
    title: corpus.title(endpoint),
    description: corpus.description(endpoint),
    pricing: endpoint % 9 === 0 ? 'metered' : 'fixed',
    price: amount,
    tags: JSON.stringify(corpus.tags(endpoint)),
    example: isPost ? '{"body":{"city":"Lisbon"}}' : '{"queryParams":{"city":"Lisbon","days":3}}',
    inputSchema: endpoint % 5 === 0 ? null : JSON.stringify(schema),
    accepts: JSON.stringify([
      {
        scheme: 'exact',
        network,
        amount,
        asset,
        payTo: payTo(merchant),
        maxTimeoutSeconds: 60,
        extra: { name: 'USDC', version: '2' },
      },
    ]),
    status: endpoint % 50 === 7 ? 'failing' : endpoint % 20 === 3 ? 'unverified' : 'live',
    createdAt: CREATED_AT + endpoint,
  }
}

/** Made-up payments for every endpoint, most of them few. */
function usageOf(endpoint: number) {
  const month = Math.floor(20_000 / ((endpoint % 5_003) + 1))
  const windows = { '24h': Math.floor(month / 30), '7d': Math.floor(month / 4), '30d': month }
  return {
    calls: windows,
    payers: windows,
    onlyHere: { '24h': 0, '7d': 0, '30d': 0 },
    topPayerShare: month === 0 ? null : 1 / month,
    settleP50Ms: 350,
    settleP95Ms: 750,
    firstPaid: CREATED_AT,
    lastPaid: CREATED_AT + (endpoint % 100_000),
  }
}

function merchantId(merchant: number): string {
  return `merchant-${merchant}`
}

function payTo(merchant: number): string {
  return `0x${(merchant + 1).toString(16).padStart(40, '0')}`
}
