/** A field for a value in JSON. */
export function JsonField({
  label,
  text,
  isGood,
  onChange,
}: {
  readonly label: string
  readonly text: string
  readonly isGood: boolean
  readonly onChange: (text: string) => void
}) {
  return (
    <label className="field wide">
      <span>{label}</span>
      <textarea
        rows={6}
        value={text}
        aria-invalid={!isGood}
        onChange={({ target }) => onChange(target.value)}
      />
      {isGood ? (
        isRounded(text) && <span className="bad-note">It has a number that is too long, and is rounded.</span>
      ) : (
        <span className="bad-note">This is not JSON: a text needs double quotes.</span>
      )}
    </label>
  )
}

/** The value of a text in JSON; an empty text is no value. */
export function parsed(text: string): { readonly isGood: boolean; readonly value?: unknown } {
  if (text.trim() === '') return { isGood: true }
  try {
    return { isGood: true, value: JSON.parse(text) as unknown }
  } catch {
    return { isGood: false }
  }
}

/** Whether a text has a whole number with more digits than a program keeps. */
function isRounded(text: string): boolean {
  const numbers = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/(?<![\d.])\d{16,}(?![\d.eE])/g) ?? []
  return numbers.some((it) => !Number.isSafeInteger(Number(it)))
}
