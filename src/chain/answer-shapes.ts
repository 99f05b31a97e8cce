import { asQuantity } from './parse-quantity.js'

const isHex = (value: unknown) => typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value)
const isQuantity = (value: unknown) => asQuantity(value) !== undefined
const isList = (value: unknown) => value === null || Array.isArray(value)
/** Of what the node may not hold; whoever reads it looks closer. */
const isRecord =
  (...members: string[]) =>
  (value: unknown) =>
    value === null ||
    (typeof value === 'object' && members.every((member) => member in (value as object)))

const shapes: Record<string, (value: unknown) => boolean> = {
  eth_blockNumber: isQuantity,
  eth_call: isHex,
  eth_estimateGas: isQuantity,
  eth_getBalance: isQuantity,
  eth_getBlockByNumber: isRecord('number', 'timestamp'),
  eth_getBlockReceipts: isList,
  eth_getLogs: Array.isArray,
  eth_getTransactionCount: isQuantity,
  eth_getTransactionReceipt: isRecord('transactionHash', 'blockNumber'),
}

/** Whether a result can be an answer to the method at all: what cannot is no answer, and another node may have one. */
export function fitsMethod(method: string, value: unknown): boolean {
  return shapes[method]?.(value) ?? true
}
