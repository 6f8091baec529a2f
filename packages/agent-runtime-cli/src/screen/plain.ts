/** A text from a store, or from anywhere, as a terminal may have it: nothing in it moves the cursor or begins a line. */
export function plain(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- these are what must not get through
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (it) => `\\u${(it.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}
