import { RpcUnavailableError } from './rpc-errors.js'

/** A number as nodes write it; `undefined` for anything else, which must never pass for zero. */
export function asQuantity(value: unknown): bigint | undefined {
  const isQuantity = typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)
  return isQuantity ? BigInt(value) : undefined
}

/** Throws `RpcUnavailableError` when it is none. */
export function parseQuantity(value: unknown): bigint {
  const quantity = asQuantity(value)
  if (quantity !== undefined) return quantity
  throw new RpcUnavailableError('the chain node answered no number where one was asked for')
}
