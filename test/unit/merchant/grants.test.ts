import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGrants, type GrantsOptions } from '@arcus/merchant/grants'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'

const news = `/${encodeURIComponent('GET /news/:topic\n{"topic":"arts"}?')}`
const sport = `/${encodeURIComponent('GET /news/:topic\n{"topic":"sport"}?')}`
const buyer = '0x00000000000000000000000000000000000000bB'

function aPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-grants-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'kept', 'grants.jsonl')
}

async function opened(path: string, options: Partial<GrantsOptions> = {}) {
  const grants = await createGrants({ path, seconds: 3_600, ...options })
  onTestFinished(() => grants.close())
  return grants
}
afterEach(() => void vi.useRealTimers())

it('keeps what was paid over a restart, for this purchase and this payer in any spelling', async () => {
  const path = aPath()
  const first = await createGrants({ path, seconds: 3_600 })
  await first.recordPayment(news, buyer)
  await first.close()
  const grants = await opened(path)
  expect(grants.hasPaid(news, buyer.toLowerCase())).toBe(true)
  expect(grants.hasPaid(sport, buyer)).toBe(false)
  expect(grants.hasPaid(news, `0x${'00'.repeat(20)}`)).toBe(false)
  expect(statSync(path).mode & 0o077).toBe(0)
})

it('forgets a payment when its time is over', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const path = aPath()
  const grants = await opened(path)
  await grants.recordPayment(news, buyer)
  vi.setSystemTime(Date.now() + 3_599_000)
  expect(grants.hasPaid(news, buyer)).toBe(true)
  vi.setSystemTime(Date.now() + 1_000)
  expect(grants.hasPaid(news, buyer)).toBe(false)
  expect((await opened(path)).hasPaid(news, buyer)).toBe(false)
})

it('may let a payment open a route with any parameters', async () => {
  const grants = await opened(aPath(), { scope: (route) => route })
  await grants.recordPayment(news, buyer)
  expect(grants.hasPaid(sport, buyer)).toBe(true)
  expect(grants.hasPaid(`/${encodeURIComponent('GET /other\n{}?')}`, buyer)).toBe(false)
})

it('takes a sign-in once, of two at the same moment and after a restart', async () => {
  const path = aPath()
  const first = await createGrants({ path, seconds: 60 })
  const results = await Promise.allSettled([first.recordNonce('n'), first.recordNonce('n')])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  await first.close()
  const grants = await opened(path)
  expect([grants.hasUsedNonce('n'), grants.hasUsedNonce('other')]).toEqual([true, false])
})

it('reads past a line that a crash cut short, and writes on after it', async () => {
  const path = aPath()
  const first = await createGrants({ path, seconds: 60 })
  await first.recordPayment(news, buyer)
  await first.close()
  appendFileSync(path, '\n{"kind":"paid","id":"cut')
  const second = await createGrants({ path, seconds: 60 })
  await second.recordPayment(sport, buyer)
  await second.close()
  const grants = await opened(path)
  expect([grants.hasPaid(news, buyer), grants.hasPaid(sport, buyer)]).toEqual([true, true])
})

it('is written anew when most of it is over, and loses nothing that counts', async () => {
  const path = aPath()
  const old = Array.from({ length: 10_100 }, (_, n) =>
    JSON.stringify({ kind: 'nonce', id: String(n), until: 1 }),
  )
  const first = await createGrants({ path, seconds: 60 })
  await first.recordPayment(news, buyer)
  await first.close()
  appendFileSync(path, old.join('\n'))
  const second = await createGrants({ path, seconds: 60 })
  await Promise.all([second.recordPayment(sport, buyer), second.recordNonce('n')])
  await second.close()
  expect(readFileSync(path, 'utf8').split('\n').filter(Boolean).length).toBeLessThan(10)
  const grants = await opened(path)
  expect([grants.hasPaid(news, buyer), grants.hasPaid(sport, buyer)]).toEqual([true, true])
  expect(grants.hasUsedNonce('n')).toBe(true)
})

it('grants nothing that the file does not keep', async () => {
  const grants = await createGrants({ path: aPath(), seconds: 60 })
  // Nothing can be written to a file that is closed.
  await grants.close()
  await expect(grants.recordPayment(news, buyer)).rejects.toThrow()
  expect(grants.hasPaid(news, buyer)).toBe(false)
  await expect(grants.recordNonce('n')).rejects.toThrow()
  expect(grants.hasUsedNonce('n')).toBe(true)
})

it('needs a time', async () => {
  await expect(createGrants({ path: aPath(), seconds: 0 })).rejects.toThrow(/must be positive/)
})
