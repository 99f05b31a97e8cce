import { RpcUnavailableError } from './rpc-errors.js'

/** A number as nodes write it. What is none must never pass for zero: throws `RpcUnavailableError`. */
export function parseQuantity(value: unknown): bigint {
  if (typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)) return BigInt(value)
  throw new RpcUnavailableError('the chain node answered no number where one was asked for')
}
