import { shownUrl } from '../store-argument.ts'

/** A text for a shell, in single quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`
}

/** The command that follows from this one, for the same store or server. A password is left out. */
export function nextCommand(words: readonly string[], options: Readonly<Record<string, unknown>>): string {
  const place = ['store', 'server', 'config'].flatMap((flag) => {
    const given = options[flag]
    return typeof given === 'string' ? [`--${flag}`, shownUrl(given)] : []
  })
  return ['agent-runtime', ...words, ...place]
    .map((word) => (/^[\w.:/@%+=,-]+$/.test(word) ? word : quoted(word)))
    .join(' ')
}
