import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ScreeningList } from '../../../../src/facilitator/screening/list.js'

const LISTED = '0xd90e2f925da726b50c4ed8d0fb90ad053324f31b'
const LATER = '0x7f367cc41522ce07553e823bf3be79a889debe1b'

let folder: string
let file: string
let errors: object[]
const log = { error: (details: object) => errors.push(details) }

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arcus-screening-'))
  file = join(folder, 'list.txt')
  errors = []
})
afterEach(() => rm(folder, { recursive: true }))

describe('a screening list', () => {
  it('has the addresses of its file in any spelling, and no comment', async () => {
    await writeFile(
      file,
      `# ${LATER}\n\n  0xd90e2f925DA726b50C4Ed8D0Fb90Ad053324F31b # from the bank\r\n`,
    )
    const list = await ScreeningList.open(file)
    expect(list.has(LISTED)).toBe(true)
    expect(list.has(LISTED.toUpperCase().replace('0X', '0x') as typeof LISTED)).toBe(true)
    expect(list.has(LATER)).toBe(false)
    expect(list.figures()).toMatchObject({ addresses: 1, isBroken: false })
  })

  it.each([
    ['is missing', undefined, /cannot be read \(ENOENT\)/],
    ['is empty', '', /names no address/],
    ['has comments alone', `# ${LISTED}\n`, /names no address/],
    [
      'has a name in it',
      `${LISTED}\nMallory\n`,
      /^Line 2 of the screening list must be an address/,
    ],
    ['has half an address', `${LISTED}\n0x1234\n`, /^Line 2/],
    ['has a wrong checksum', '0xD90E2f925DA726b50C4Ed8D0Fb90Ad053324F31b', /^Line 1.*checksum/],
  ])('is not opened where its file %s', async (_, text, message) => {
    if (text !== undefined) await writeFile(file, text)
    await expect(ScreeningList.open(file)).rejects.toThrow(message)
  })

  it('takes a changed file once it is written, and says when that was', async () => {
    await writeFile(file, LISTED)
    const list = await ScreeningList.open(file)
    const before = list.figures()
    await writeFile(file, `${LATER}\n${LISTED}\n`)
    await list.refresh(log)
    expect(list.has(LATER)).toBe(false)
    await list.refresh(log)
    expect(list.has(LATER)).toBe(true)
    expect(list.figures().addresses).toBe(2)
    expect(list.figures().hash).not.toBe(before.hash)
    expect(list.figures().writtenAt).toBeGreaterThanOrEqual(before.writtenAt)
    expect(errors).toEqual([])
  })

  it('takes another file under its name, even of the same length', async () => {
    await writeFile(file, LISTED)
    const list = await ScreeningList.open(file)
    await writeFile(join(folder, 'new'), LATER)
    await rename(join(folder, 'new'), file)
    await list.refresh(log)
    await list.refresh(log)
    expect([list.has(LISTED), list.has(LATER)]).toEqual([false, true])
  })

  it.each([
    ['empty', async () => writeFile(file, '')],
    ['broken', async () => writeFile(file, 'nonsense')],
    ['gone', async () => rm(file)],
  ])('stays in force while its file is %s, and says so once', async (_, damage) => {
    await writeFile(file, LISTED)
    const list = await ScreeningList.open(file)
    await damage()
    for (let i = 0; i < 3; i++) await list.refresh(log)
    expect(list.has(LISTED)).toBe(true)
    expect(list.figures()).toMatchObject({ addresses: 1, isBroken: true })
    expect(errors).toHaveLength(1)
    await writeFile(file, `${LATER}\n`)
    for (let i = 0; i < 2; i++) await list.refresh(log)
    expect([list.has(LISTED), list.has(LATER)]).toEqual([false, true])
    expect(list.figures().isBroken).toBe(false)
  })
})
