/** How a call may be paid, in the order in which it is offered. */
export const schemes = ['exact', 'batch-settlement'] as const

export type Scheme = (typeof schemes)[number]
