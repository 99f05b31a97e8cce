export interface FilterFields {
  /** The filters of this list. */
  names: readonly (keyof typeof labels)[]
  values: Partial<Record<keyof typeof labels, string | undefined>>
  choose: (wanted: Partial<Record<keyof typeof labels, string>>) => void
}

export const labels = {
  seller: 'Seller',
  buyer: 'Buyer',
  min: 'At least',
  max: 'At most',
  from: 'From',
  to: 'To',
  network: 'Network',
} as const
