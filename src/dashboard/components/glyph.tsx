/** Hues that sit well on paper and on ink. */
const hues = [228, 262, 330, 14, 42, 88, 152, 178, 200]

/** The mark of a merchant or wallet: three arcs and a hue drawn from its id, so that look-alike names differ. */
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

/** FNV-1a, mixed once more so that its low bits differ too; unsigned. */
function hash(text: string): number {
  let bits = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193)
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d)
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b)
  return (bits ^ (bits >>> 16)) >>> 0
}
