import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reasons } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { aChannel } from '../support/a-channel.js'
import { startServer, type TestServer } from '../support/a-server.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

const payerRefused = reasons.payerNotAllowed.code
const payToRefused = reasons.payToNotAllowed.code
const unavailable = reasons.screeningUnavailable.code

let world: World
let server: TestServer | undefined
let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arcus-screening-'))
  file = join(folder, 'list.txt')
})
afterEach(async () => {
  await world.stop()
  await server?.close()
  server = undefined
  await rm(folder, { recursive: true })
})

const verify = (body: unknown) => world.post('/verify', body)
const settle = (body: unknown) => world.post('/settle', body)

it('a listed address neither pays nor is paid, by payment and by channel', async () => {
  const [payer, payTo] = [anAccount(), anAccount()]
  await writeFile(file, `${payer.address}\n${payTo.address.toLowerCase()} # sold stolen goods\n`)
  const lines: Record<string, unknown>[] = []
  const env = { SCREENING_LIST_FILE: file, LOG_LEVEL: 'warn' }
  world = await startWorld({ env, onLine: (line) => lines.push(line) })
  await mintUsdc(world.chainUrl, payer.address, 1_000_000n)

  const paid = await aSignedPayment({ from: payer.address, signer: payer })
  const got = await aSignedPayment({ to: payTo.address })
  for (const [body, code] of [
    [paid, payerRefused],
    [got, payToRefused],
  ] as const) {
    expect((await verify(body)).body).toMatchObject({ isValid: false, invalidReason: code })
    const settled = await settle(body)
    expect(settled.body).toMatchObject({ success: false, errorReason: code, transaction: '' })
    expect(settled.status).toBe(200)
  }
  const channel = aChannel({ payer })
  const deposit = await channel.deposit('100000')
  expect((await verify(deposit)).body).toMatchObject({ invalidReason: payerRefused })
  expect((await settle(deposit)).body).toMatchObject({ errorReason: payerRefused })

  expect((await settle(await aSignedPayment())).body).toMatchObject({ success: true })
  // Callers learn of no list. The log has a line for each refused party, and not one for each request.
  expect(world.said.join()).not.toMatch(/list|screen/i)
  const refusals = lines.filter(({ msg }) => msg === 'screening refused a payment')
  expect(refusals).toMatchObject([
    { side: 'payer', by: 'list', payer: payer.address.toLowerCase() },
    { side: 'payTo', by: 'list', payTo: payTo.address.toLowerCase() },
  ])
  expect(refusals[0]?.list).toMatch(/^[0-9a-f]{16}$/)
  const metrics = await (await fetch(`${world.url}/metrics`)).text()
  expect(metrics).toMatch(/arcus_screening_refused_total\{by="list",side="payer"\} 4/)
  expect(metrics).toMatch(/arcus_screening_list_addresses 2/)
})

it('a stranger cannot ask whom the list names: the signature is checked before', async () => {
  await writeFile(file, `${devnetPayer.address}\n`)
  world = await startWorld({ env: { SCREENING_LIST_FILE: file } })
  const payment = await aSignedPayment()
  const forged = await aSignedPayment({ signer: anAccount() })
  expect((await verify(forged)).body.invalidReason).toBe(reasons.signature.code)
  expect((await settle(forged)).body.errorReason).toBe(reasons.signature.code)
  expect((await verify(payment)).body.invalidReason).toBe(payerRefused)
})

it('a payment that settled before its payer was listed is answered with its hash', async () => {
  await writeFile(file, `${anAccount().address}\n`)
  world = await startWorld({ env: { SCREENING_LIST_FILE: file } })
  const payment = await aSignedPayment()
  const { transaction } = (await settle(payment)).body
  await writeFile(file, `${devnetPayer.address}\n`)
  await expect
    .poll(async () => (await verify(await aSignedPayment())).body.invalidReason, {
      timeout: 15_000,
    })
    .toBe(payerRefused)
  expect((await settle(payment)).body).toMatchObject({ transaction })
})

it('a missing or empty list stops the start', async () => {
  await writeFile(file, '# nobody yet\n')
  const env = { SCREENING_LIST_FILE: file }
  world = { stop: async () => {} } as World
  await expect(startWorld({ env })).rejects.toThrow(/SCREENING_LIST_FILE.*names no address/)
  await rm(file)
  await expect(startWorld({ env })).rejects.toThrow(/SCREENING_LIST_FILE.*cannot be read/)
})

it.each(['refuse', 'allow'] as const)(
  'the service decides, and %s is what its silence means',
  async (onError) => {
    const asked: unknown[] = []
    const refusedPayTo = anAccount().address.toLowerCase()
    let isSilent = false
    server = await startServer(async (request, response) => {
      const parties = JSON.parse(Buffer.concat(await request.toArray()).toString())
      asked.push(parties)
      if (isSilent) return
      response.end(JSON.stringify({ allow: parties.payTo !== refusedPayTo }))
    })
    const env = { SCREENING_URL: `${server.url}/screen`, SCREENING_ON_ERROR: onError }
    world = await startWorld({ env })
    const payment = await aSignedPayment()
    expect((await verify(payment)).body).toMatchObject({ isValid: true })
    expect((await settle(payment)).body).toMatchObject({ success: true })
    expect(asked).toEqual([
      {
        network: 'eip155:5042',
        payer: devnetPayer.address.toLowerCase(),
        payTo: devnetMerchant.address.toLowerCase(),
      },
    ])
    const refused = await aSignedPayment({ to: refusedPayTo as Address })
    expect((await verify(refused)).body).toMatchObject({ isValid: false })
    expect((await settle(refused)).body).toMatchObject({ success: false, transaction: '' })

    isSilent = true
    const other = await aSignedPayment({ to: anAccount().address })
    const [verified, settled] = [await verify(other), await settle(other)]
    if (onError === 'allow') {
      expect(verified.body).toMatchObject({ isValid: true })
      expect(settled.body).toMatchObject({ success: true })
      return
    }
    expect([verified.status, settled.status]).toEqual([503, 503])
    expect(verified.body).toMatchObject({ isValid: false, invalidReason: unavailable })
    expect(settled.body).toMatchObject({ success: false, errorReason: unavailable })
    isSilent = false
    expect((await settle(other)).body).toMatchObject({ success: true })
  },
)
