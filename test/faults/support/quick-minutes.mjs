// Loaded before the service: it does every second what it does every minute elsewhere.
const every = globalThis.setInterval

globalThis.setInterval = (run, ms, ...rest) => every(run, ms === 60_000 ? 1_000 : ms, ...rest)
