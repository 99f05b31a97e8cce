export function MerchantPage(_: { id: string }) {
  return null
}
