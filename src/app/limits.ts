import { listingLimits } from '@arcus/protocol/listing/listing'

/** The largest body of a route that sets no limit of its own; a payment takes some 2 kB. */
export const BODY_LIMIT_BYTES = 262_144
/** The largest body of any route: a listing with all its endpoints. */
export const LARGEST_BODY_BYTES = Math.max(BODY_LIMIT_BYTES, listingLimits.request.maxBytes)
