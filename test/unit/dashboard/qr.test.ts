import { describe, expect, it } from 'vitest'
import { encodeQr } from '../../../src/dashboard/wallet/qr.js'

/*
 * The codes are read back here by the rules of the standard, from the modules alone.
 */

/** The order of the data modules, found by walking the columns around all that is fixed. */
function dataModules(size: number): [x: number, y: number][] {
  const align = size - 7
  const isFixed = (x: number, y: number) =>
    x === 6 ||
    y === 6 ||
    (x < 9 && y < 9) ||
    (x >= size - 8 && y < 9) ||
    (x < 9 && y >= size - 8) ||
    (size > 21 && Math.abs(x - align) <= 2 && Math.abs(y - align) <= 2)
  const columns = Array.from({ length: (size - 1) / 2 }, (_, i) => size - 1 - 2 * i).map((x) =>
    x <= 6 ? x - 1 : x,
  )
  return columns.flatMap((right, i) =>
    Array.from({ length: size }, (_, step) => (i % 2 === 0 ? size - 1 - step : step)).flatMap((y) =>
      [right, right - 1].filter((x) => !isFixed(x, y)).map((x): [number, number] => [x, y]),
    ),
  )
}

function powers(): number[] {
  const list = [1]
  for (let i = 1; i < 255; i++) {
    const next = (list[i - 1] as number) << 1
    list.push(next > 255 ? next ^ 0x11d : next)
  }
  return list
}

/** Tells whether a block is a word of the Reed-Solomon code: every syndrome is zero. */
function isSound(block: number[], corrections: number): boolean {
  const exp = powers()
  const times = (a: number, b: number) =>
    a === 0 || b === 0 ? 0 : (exp[(exp.indexOf(a) + exp.indexOf(b)) % 255] as number)
  return Array.from({ length: corrections }, (_, i) => exp[i] as number).every(
    (root) => block.reduce((sum, byte) => times(sum, root) ^ byte, 0) === 0,
  )
}

const corrections = { 21: 7, 25: 10, 29: 15, 33: 20, 37: 26, 41: 18 } as Record<number, number>

function read(rows: boolean[][]): string {
  const size = rows.length
  const bits = dataModules(size).map(([x, y]) =>
    Number((rows[y]?.[x] === true) !== ((x + y) % 2 === 0)),
  )
  const words = Array.from({ length: Math.floor(bits.length / 8) }, (_, i) =>
    Number.parseInt(bits.slice(8 * i, 8 * i + 8).join(''), 2),
  )
  const count = size === 41 ? 2 : 1
  const parts = Array.from({ length: count }, (_, i) => words.filter((_, j) => j % count === i))
  const check = corrections[size] as number
  expect(parts.map((part) => isSound(part, check))).toEqual(parts.map(() => true))
  const data = parts.flatMap((part) => part.slice(0, -check))
  const nibbles = data.flatMap((byte) => [byte >> 4, byte & 15])
  expect(nibbles[0]).toBe(4)
  const byteAt = (i: number) => ((nibbles[2 * i + 1] ?? 0) << 4) | (nibbles[2 * i + 2] ?? 0)
  const bytes = Array.from({ length: byteAt(0) }, (_, i) => byteAt(i + 1))
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

describe('a QR code', () => {
  it.each([1, 17, 18, 32, 53, 78, 106, 107, 134])('of %i bytes is read back', (length) => {
    const text = 'https://arcus.example/merchants/penny-weather?x='.repeat(3).slice(0, length)
    const rows = encodeQr(text)
    expect(rows && read(rows)).toBe(text)
  })

  it('carries its format twice, its finders and its dark module', () => {
    const rows = encodeQr('https://arcus.example') ?? []
    const size = rows.length
    const at = (x: number, y: number) => (rows[y]?.[x] === true ? '1' : '0')
    const beside = [0, 1, 2, 3, 4, 5, 7, 8].map((x) => at(x, 8))
    const above = [7, 5, 4, 3, 2, 1, 0].map((y) => at(8, y))
    expect([...beside, ...above].join('')).toBe('111011111000100')
    const below = [1, 2, 3, 4, 5, 6, 7].map((i) => at(8, size - i))
    const right = [8, 7, 6, 5, 4, 3, 2, 1].map((i) => at(size - i, 8))
    expect([...below, ...right].join('')).toBe('111011111000100')
    expect(at(8, size - 8)).toBe('1')
    for (const [x, y] of [
      [0, 0],
      [size - 7, 0],
      [0, size - 7],
    ] as const) {
      const row = (dy: number) => [0, 1, 2, 3, 4, 5, 6].map((dx) => at(x + dx, y + dy)).join('')
      expect([0, 1, 2, 3].map(row)).toEqual(['1111111', '1000001', '1011101', '1011101'])
    }
  })

  it('is not made of a text that is too long', () => {
    expect(encodeQr('x'.repeat(135))).toBeUndefined()
  })
})
