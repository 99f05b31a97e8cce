const paths = {
  search: 'M7 12.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11Zm4-1.5 3.5 3.5',
  copy: 'M5.5 5.5v-4h9v9h-4m-9-5h9v9h-9z',
  check: 'm2.5 8.5 3.5 3.5 7.5-8',
  cross: 'm3.5 3.5 9 9m0-9-9 9',
  out: 'M6 2.5H2.5v11h11V10M9.5 2.5h4v4m0-4L7.5 8.5',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm0-9.5v1m0 11v1M1.5 8h1m11 0h1M3.4 3.4l.7.7m7.8 7.8.7.7m0-9.2-.7.7m-7.8 7.8-.7.7',
  moon: 'M13.5 9.7A5.8 5.8 0 0 1 6.3 2.5a5.8 5.8 0 1 0 7.2 7.2Z',
  plus: 'M8 2.5v11M2.5 8h11',
  more: 'm3.5 6 4.5 4.5L12.5 6',
  right: 'm6 3.5 4.5 4.5L6 12.5',
  left: 'M10 3.5 5.5 8l4.5 4.5',
  again: 'M13.5 8A5.5 5.5 0 1 1 11.7 4m1.8-2v3h-3',
  above: 'M3.5 10 8 5.5 12.5 10',
  down: 'M8 2v8.5M4.5 7.5 8 11l3.5-3.5M2.5 14h11',
  warning: 'M8 2 1.5 13.5h13zM8 6.5v3.2m0 1.9v.2',
  wallet:
    'M13.5 5.5v-2a1 1 0 0 0-1-1h-9a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-2M9.5 6h5v4h-5a2 2 0 0 1 0-4Z',
} as const

export function Icon({ name, size = 16 }: { name: keyof typeof paths; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      className="shrink-0"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}

/** The logo of Arcus. */
export function Mark({ size = 22 }: { size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 32 32"
      fill="none"
      strokeLinecap="round"
      strokeWidth="3.8"
      className="text-accent"
      aria-hidden="true"
    >
      <path d="M4 25a12 12 0 0 1 24 0" stroke="currentColor" />
      <path d="M10.4 25a5.6 5.6 0 0 1 11.2 0" stroke="currentColor" opacity=".5" />
    </svg>
  )
}

/** Hues that are readable in both themes. */
const hues = [228, 262, 330, 14, 42, 88, 152, 178, 200]

/** Draws three arcs in a hue, both from the id of a merchant or wallet, so that similar names look different. */
export function Glyph({ of, size = 40 }: { of: string; size?: number }) {
  const bits = hash(of.toLowerCase())
  const hue = hues[bits % hues.length] as number
  const arcs = [13, 9, 5].map((radius, index) => ({
    radius,
    turn: ((bits >>> (4 + index * 5)) % 16) * 22.5,
    share: 0.3 + ((bits >>> (19 + index * 3)) % 5) * 0.12,
  }))
  return (
    <svg width={size} height={size} viewBox="0 0 40 40" className="shrink-0" aria-hidden="true">
      <rect width="40" height="40" rx="10" fill={`oklch(0.7 0.12 ${hue} / 16%)`} />
      {arcs.map(({ radius, turn, share }, index) => (
        <circle
          key={radius}
          cx="20"
          cy="20"
          r={radius}
          fill="none"
          stroke={`oklch(${0.58 + index * 0.07} 0.15 ${hue + index * 16})`}
          strokeWidth="3"
          strokeLinecap="round"
          strokeDasharray={`${share * 2 * Math.PI * radius} 999`}
          transform={`rotate(${turn} 20 20)`}
        />
      ))}
    </svg>
  )
}

/** Returns an unsigned FNV-1a hash, mixed once more so that its low bits differ too. */
function hash(text: string): number {
  let bits = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193)
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d)
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b)
  return (bits ^ (bits >>> 16)) >>> 0
}
