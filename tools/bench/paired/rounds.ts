/** Reads `--rounds`, or says what is wrong with it. An even number, so that each revision leads as often as the other. */
export function readRounds(text: string): { readonly rounds: number } | { readonly wrong: string } {
  const rounds = Number(text)
  return /^\d+$/.test(text) && rounds > 0 && rounds % 2 === 0
    ? { rounds }
    : { wrong: `--rounds takes an even number above 0, not ${text}` }
}
