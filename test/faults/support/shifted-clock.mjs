// Loaded before the service: its clock is ahead by CLOCK_AHEAD_MS.
const aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0)
const now = Date.now.bind(Date)

Date.now = () => now() + aheadMs
