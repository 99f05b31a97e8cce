/*
 * QR codes (ISO/IEC 18004) of short texts: bytes, error correction L, versions 1 to 6, mask 0. These versions need neither
 * version information nor blocks of two lengths.
 */

/** Data bytes of a block, its bytes of correction, and the number of blocks, by version. */
const blocks = [
  [19, 7, 1],
  [34, 10, 1],
  [55, 15, 1],
  [80, 20, 1],
  [108, 26, 1],
  [68, 18, 2],
] as const

/** The format of level L with mask 0, with its correction. */
const FORMAT = 0b111011111000100
/** Mode and length of the text. */
const HEAD_BYTES = 2

/** Returns the rows of dark modules; `undefined` for a text that is too long. */
export function encodeQr(text: string): boolean[][] | undefined {
  const bytes = new TextEncoder().encode(text)
  const index = blocks.findIndex(([data, , count]) => data * count >= bytes.length + HEAD_BYTES)
  const shape = blocks[index]
  if (shape === undefined) return undefined
  const size = 21 + 4 * index
  const { dark, isFixed } = drawPatterns(size, index)
  fill({ dark, isFixed, size }, interleave(toData(bytes, shape[0] * shape[2]), shape))
  return dark
}

/** Writes mode, length and bytes, and pads them to the capacity. */
function toData(bytes: Uint8Array, capacity: number): number[] {
  const bits = [0, 1, 0, 0, ...[bytes.length, ...bytes].flatMap(bitsOf), 0, 0, 0, 0]
  const data = Array.from({ length: bits.length / 8 }, (_, i) =>
    Number.parseInt(bits.slice(8 * i, 8 * i + 8).join(''), 2),
  )
  const length = data.length
  const pads = Array.from({ length: capacity - length }, (_, i) => (i % 2 === 0 ? 0xec : 0x11))
  return [...data, ...pads]
}

function bitsOf(byte: number): number[] {
  return [7, 6, 5, 4, 3, 2, 1, 0].map((place) => (byte >> place) & 1)
}

function interleave(
  data: number[],
  [length, correction, count]: (typeof blocks)[number],
): number[] {
  const parts = Array.from({ length: count }, (_, i) => data.slice(i * length, (i + 1) * length))
  const checks = parts.map((part) => remainder(part, correction))
  const turn = (lists: number[][], rows: number) =>
    Array.from({ length: rows }, (_, row) => lists.map((list) => list[row] ?? 0)).flat()
  return [...turn(parts, length), ...turn(checks, correction)]
}

/** Multiplies in the field of 256 elements that QR codes use. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let place = 7; place >= 0; place--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d)
    product ^= ((b >> place) & 1) * a
  }
  return product
}

/** Returns the Reed-Solomon correction of the data. */
function remainder(data: number[], degree: number): number[] {
  let divisor = [...Array<number>(degree - 1).fill(0), 1]
  let root = 1
  for (let i = 0; i < degree; i++) {
    divisor = divisor.map((it, j) => multiply(it, root) ^ (divisor[j + 1] ?? 0))
    root = multiply(root, 2)
  }
  let rest = Array<number>(degree).fill(0)
  for (const byte of data) {
    const factor = byte ^ (rest[0] ?? 0)
    rest = [...rest.slice(1), 0].map((it, j) => it ^ multiply(divisor[j] ?? 0, factor))
  }
  return rest
}

interface Grid {
  dark: boolean[][]
  /** Modules that hold no data. */
  isFixed: boolean[][]
}

/** Draws finders, timing, alignment and format. */
function drawPatterns(size: number, index: number): Grid {
  const empty = () => Array.from({ length: size }, () => Array<boolean>(size).fill(false))
  const dark = empty()
  const isFixed = empty()
  const set = (x: number, y: number, isDark: boolean) => {
    const [row, fixed] = [dark[y], isFixed[y]]
    if (row === undefined || fixed === undefined || x < 0 || x >= size) return
    row[x] = isDark
    fixed[x] = true
  }
  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0)
    set(i, 6, i % 2 === 0)
  }
  const square = (cx: number, cy: number, radius: number, isDark: (ring: number) => boolean) => {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++) {
        set(cx + dx, cy + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))))
      }
    }
  }
  const finder = (ring: number) => ring !== 2 && ring !== 4
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    square(cx, cy, 4, finder)
  if (index > 0) square(size - 7, size - 7, 2, (ring) => ring !== 1)
  for (let i = 0; i < 15; i++) {
    const bit = ((FORMAT >> i) & 1) === 1
    set(i < 8 ? 8 : i === 8 ? 7 : 14 - i, i < 6 ? i : i < 8 ? i + 1 : 8, bit)
    set(i < 8 ? size - 1 - i : 8, i < 8 ? 8 : size - 15 + i, bit)
  }
  set(8, size - 8, true)
  return { dark, isFixed }
}

/** Writes the bytes in columns of two, up and down from the right, under mask 0. */
function fill({ dark, isFixed, size }: Grid & { size: number }, bytes: number[]): void {
  const bits = bytes.flatMap(bitsOf)
  let next = 0
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    const isUpward = ((right + 1) & 2) === 0
    for (let step = 0; step < size; step++) {
      const y = isUpward ? size - 1 - step : step
      for (const x of [right, right - 1]) {
        const row = dark[y]
        if (row === undefined || isFixed[y]?.[x] === true) continue
        row[x] = (bits[next++] === 1) !== ((x + y) % 2 === 0)
      }
    }
  }
}
