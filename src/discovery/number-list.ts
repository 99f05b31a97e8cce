/** Numbers in a row that grows by pages: nothing is ever copied, so no push takes long. */
export interface NumberList {
  readonly length: number
  push(value: number): void
  /** 0 for what was never written. */
  at(index: number): number
  /** Grows the list as far as needed. */
  set(index: number, value: number): void
  [Symbol.iterator](): Iterator<number>
}

const PAGE_BITS = 16
const PAGE_SIZE = 1 << PAGE_BITS

/** Whole numbers below 2^32. */
export function createNumberList(): NumberList {
  return createList((size) => new Uint32Array(size))
}

/** Any numbers. */
export function createFloatList(): NumberList {
  return createList((size) => new Float64Array(size))
}

function createList(allocate: (size: number) => Uint32Array | Float64Array): NumberList {
  const pages: (Uint32Array | Float64Array)[] = []
  let length = 0
  const place = (index: number) => index & (PAGE_SIZE - 1)
  const at = (index: number) => pages[index >>> PAGE_BITS]?.[place(index)] ?? 0

  function set(index: number, value: number): void {
    while (pages.length <= index >>> PAGE_BITS) pages.push(allocate(PAGE_SIZE))
    const page = pages[index >>> PAGE_BITS]
    if (page !== undefined) page[place(index)] = value
    if (index >= length) length = index + 1
  }

  return {
    get length() {
      return length
    },
    push: (value) => set(length, value),
    at,
    set,
    *[Symbol.iterator]() {
      for (let i = 0; i < length; i++) yield at(i)
    },
  }
}
