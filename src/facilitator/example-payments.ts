/*
 * Payments as the description shows them. The payer is an account of the public test mnemonic, which has money on a
 * devnet and nowhere else, so there the first one really settles.
 */
const payer = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const payTo = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const nonce = `0x${'a5'.repeat(32)}`

const requirement = {
  scheme: 'exact',
  network: 'eip155:5042',
  amount: '10000',
  asset: '0x3600000000000000000000000000000000000000',
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

const paymentPayload = {
  x402Version: 2,
  resource: { url: 'https://api.example.com/quote', description: 'A quote' },
  accepted: requirement,
  payload: {
    authorization: {
      from: payer,
      to: payTo,
      value: '10000',
      validAfter: '0',
      validBefore: '4102444800',
      nonce,
    },
    signature:
      '0x64e19fe0d46e59ec3256263a74b35dfcdb3751ee76fa595adc8a4c0b4a983f00031a85cffa7d26d0c6dbbc3f09bcebfd75ede0fe8d069630d5e347be5c3a75281c',
  },
}

/** One cent, signed, valid until 2100. */
export const wellFormedPayment = {
  payer,
  payTo,
  nonce,
  body: { x402Version: 2, paymentPayload, paymentRequirements: requirement },
}

/** The same authorization for a price of two cents. */
export const unpaidPayment = {
  body: { ...wellFormedPayment.body, paymentRequirements: { ...requirement, amount: '20000' } },
}
