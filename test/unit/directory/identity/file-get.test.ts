import { expect, it } from 'vitest'
import { createFileGet } from '../../../../src/directory/identity/registration-file.js'

const head = { status: 200, headers: {} }
const url = 'https://agent.example/card.json'

it('gives the text of a 200, asked for with GET', async () => {
  const asked: unknown[] = []
  const get = createFileGet(async (request) => {
    asked.push(request)
    return { kind: 'answer', head, body: '{}', bodyBytes: 2 }
  })
  expect(await get(url)).toEqual({ ok: true, text: '{}' })
  expect(asked).toEqual([{ url, method: 'GET' }])
})

it('gives any other status as the reason, and none of the body', async () => {
  const get = createFileGet(async () => ({
    kind: 'answer',
    head: { ...head, status: 404 },
    body: 'secret',
    bodyBytes: 6,
  }))
  expect(await get(url)).toEqual({ ok: false, reason: 'the host answered 404' })
})

it('gives the message of the guard as the end of a sentence', async () => {
  const get = createFileGet(async () => ({ kind: 'blocked', message: 'The host is private.' }))
  expect(await get(url)).toEqual({ ok: false, reason: 'the host is private' })
})
