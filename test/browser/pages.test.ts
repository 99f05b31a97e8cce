import { gzipSync } from 'node:zlib'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attestationTypes } from '../../src/x402/attestation.js'
import { fillDirectory } from './support/a-directory.js'
import { seriousFindings } from './support/accessibility.js'
import { type BrowserWorld, startBrowserWorld } from './support/browser-world.js'
import { reasonToSkip } from './support/chromium.js'
import { settled } from './support/console-steps.js'

const skipped = reasonToSkip()
let world: BrowserWorld
let transaction: string

beforeAll(async () => {
  if (skipped !== undefined) return
  world = await startBrowserWorld()
  await fillDirectory(world)
  const paid = await world.pay(`${world.strangers.url}/weather/forecast`)
  transaction = paid.body.transaction
})
afterAll(() => world?.stop())

describe.skipIf(skipped !== undefined)('every page', () => {
  it('has its own title', async () => {
    const { page, close } = await world.open()
    const titles = new Set<string>()
    for (const path of ['/', '/directory', '/merchants/penny-weather', '/payments', '/status']) {
      await page.goto(path)
      await settled(page)
      titles.add(await page.title())
    }
    expect(titles.size).toBe(5)
    await close()
  })
})

describe.skipIf(skipped !== undefined)('the first load', () => {
  it('is below 130 kB over the wire', async () => {
    const { page, received, close } = await world.open()
    await page.goto('/')
    await settled(page)
    const ours = [...received].filter(([path]) => !path.startsWith('/api/'))
    expect(ours.length).toBeGreaterThan(2)
    expect(ours.reduce((sum, [, bytes]) => sum + bytes, 0)).toBeLessThan(130_000)
    await close()
  })

  it('is below 150 kB with gzip', async () => {
    const { page, received, close } = await world.open()
    await page.goto('/')
    await settled(page)
    const paths = [...received.keys()].filter((path) => !path.startsWith('/api/'))
    const sizes = await Promise.all(
      paths.map(async (path) => {
        const headers = { 'accept-encoding': 'identity', accept: 'text/html,*/*' }
        const answer = await fetch(world.origin + path, { headers })
        const bytes = Buffer.from(await answer.arrayBuffer())
        // Fonts are compressed as they are.
        return path.endsWith('.woff2') ? bytes.length : gzipSync(bytes).length
      }),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000)
    await close()
  })
})

describe.skipIf(skipped !== undefined)('the public side', () => {
  it('finds a payment by its transaction, and shows everything of it after a reload too', async () => {
    const { page, faults, close } = await world.open()
    await page.goto('/payments')
    const newest = page.getByRole('list', { name: 'Latest payments' })
    expect(await newest.getByRole('link').first().getAttribute('href')).toBe(
      `/payments/${transaction}`,
    )
    // A hash is taken without its 0x.
    await page.getByRole('textbox').first().fill(transaction.slice(2))
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/payments/${transaction}`)
    await page.reload()
    await page.getByText('The merchant has the money. This is final.').waitFor()
    const timeline = page.getByRole('list').filter({ hasText: 'Verified and accepted' })
    for (const step of ['Verified and accepted', 'Sent', 'Confirmed', 'Answered']) {
      const shown = timeline.getByRole('listitem').filter({ hasText: step }).first()
      expect(await shown.locator('time').count()).toBe(1)
    }
    expect(await seriousFindings(page)).toEqual([])
    expect(faults).toEqual([])
    // Both ways: from the payment to its merchant, and to what else is paid at the address.
    await page.getByRole('link', { name: 'Penny Weather' }).click()
    await page.waitForURL('**/merchants/penny-weather')
    await close()
  })

  it('finds a payment by payer and nonce, and says that another is unknown', async () => {
    const { page, close } = await world.open()
    const [payment] = (await world.get(`/payments/${transaction}`)).body.payments
    await page.goto('/payments')
    await page.getByLabel('Transaction hash or payer address').fill(payment.payer)
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByText('The nonce has 64 hex digits.').waitFor()
    await page.getByLabel('Nonce').fill(payment.nonce)
    await page.getByRole('button', { name: 'Find' }).click()
    await page.waitForURL(`**/payments/eip155:5042/**`)
    await page.getByText('Confirmed', { exact: true }).first().waitFor()
    await page.goto(`/payments/0x${'77'.repeat(32)}`)
    await page.getByText('No such payment here').waitFor()
    await close()
  })

  it('leads the addresses of the former lookup on', async () => {
    const { page, close } = await world.open()
    const [payment] = (await world.get(`/payments/${transaction}`)).body.payments
    await page.goto(`/lookup?tx=${transaction}`)
    await page.waitForURL(`**/payments/${transaction}`)
    await page.goto(`/lookup?payer=${payment.payer}&nonce=${payment.nonce}`)
    await page.getByText('The merchant has the money. This is final.').waitFor()
    await page.goto('/lookup/attestation')
    await page.waitForURL('**/payments/attestation')
    await close()
  })

  it('checks an attestation: its form, its signature, and the payment it is about', async () => {
    const { page, faults, close } = await world.open()
    const [payment] = (await world.get(`/payments/${transaction}`)).body.payments
    const key = privateKeyToAccount(generatePrivateKey())
    const payload = {
      version: 1,
      network: payment.network,
      transaction,
      payer: payment.payer,
      payee: payment.payTo,
      asset: payment.asset,
      amount: payment.amount,
      facilitator: key.address,
      facilitatorFee: '0',
      observedAt: '1795262400',
    }
    const sign = async (changes: object = {}) => {
      const message = { ...payload, ...changes }
      const signature = await key.signTypedData({
        domain: { name: 'x402 receipt', version: '1', chainId: 1 },
        types: attestationTypes,
        primaryType: 'SettlementAttestation',
        message: message as never,
      })
      return { format: 'eip712', payload: message, signature }
    }
    const check = async (pasted: unknown, answer: string) => {
      await page
        .getByLabel('Attestation')
        .fill(typeof pasted === 'string' ? pasted : JSON.stringify(pasted))
      await page.getByRole('button', { name: 'Check' }).click()
      await page.getByText(answer).waitFor()
    }
    await page.goto('/payments')
    await page.getByRole('link', { name: 'Check an attestation of a payment' }).click()
    await check('hello', 'This is no JSON.')
    await check({ format: 'jws' }, 'format must be "eip712".')
    const sound = await sign()
    await check(sound, 'It matches a payment that settled here')
    await page.getByText('This service does not sign with this key now.').waitFor()
    const extension = { 'facilitator-attestation': { info: { attestation: sound } } }
    await check({ success: true, extensions: extension }, 'It matches a payment that settled here')
    const altered = { ...sound, payload: { ...payload, amount: '1' } }
    await check(altered, 'The signature is not that of the facilitator it names')
    await check(await sign({ amount: '1' }), 'It contradicts what settled here')
    const elsewhere = await sign({ transaction: `0x${'77'.repeat(32)}` })
    await check(elsewhere, 'No such payment is known here')
    expect(await seriousFindings(page)).toEqual([])
    // The browser notes the 404 of the transaction that is not known.
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([])
    await close()
  })

  it('opens the receipt of a payment', async () => {
    const { page, close } = await world.open()
    await page.goto(`/payments/${transaction}`)
    await page.getByRole('link', { name: 'Receipt' }).click()
    await page.getByRole('heading', { name: /receipt/i }).waitFor()
    await page.getByText(transaction).first().waitFor()
    await close()
  })

  it('narrows the list while typing, and keeps the search in the address', async () => {
    const { page, close } = await world.open()
    // The former address of the directory leads on.
    await page.goto('/?pricing=fixed')
    await page.waitForURL('**/directory?pricing=fixed')
    await page.getByRole('searchbox').fill('tides')
    await page.getByText('Tides today').waitFor()
    await page.getByText('Paper by DOI').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Tides today').waitFor()
    expect(await page.getByText('Paper by DOI').count()).toBe(0)
    await close()
  })

  it('marks listings as unreviewed, and shows where official ones are paid', async () => {
    const { page, close } = await world.open()
    await page.goto('/merchants/paper-trail')
    await page.getByText('Nobody has reviewed it.').waitFor()
    await page.goto('/merchants/arc-index')
    await page
      .getByText(/buyback/i)
      .first()
      .waitFor()
    expect(await page.getByText('Nobody has reviewed it.').count()).toBe(0)
    await close()
  })
})
