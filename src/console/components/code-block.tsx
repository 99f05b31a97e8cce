import { CopyButton } from './button.js'

/** Shows code with a button to copy it. Long code scrolls in its box. */
export function CodeBlock({ code, name }: { code: string; name: string }) {
  return (
    <div className="relative rounded-lg border border-line bg-sunken">
      <div className="absolute top-1.5 right-1.5 rounded-md bg-sunken">
        <CopyButton text={code} name={name} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus */}
      <section aria-label={name} tabIndex={0} className="mr-10 max-h-96 overflow-auto p-4 pr-0">
        <pre className="font-mono text-xs leading-5">
          <code dir="ltr">{code}</code>
        </pre>
      </section>
    </div>
  )
}
