/** The fields of an EIP-3009 authorization, in the order in which they are signed. */
export const authorizationFields = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

/** The EIP-712 types of an EIP-3009 authorization to send, as wallets and viem take them. */
export const authorizationTypes = { TransferWithAuthorization: authorizationFields } as const
