// The words that the pages avoid. Each has what to write instead, since a complaint without a way out helps nobody.

export interface Banned {
  readonly pattern: RegExp
  readonly instead: string
}

/** Phrases that read as translated, in whatever sentence. */
export const bannedPhrases: readonly Banned[] = [
  { pattern: /\b(?:is|are|be|was|been) gone through\b/i, instead: 'runs again, is replayed' },
  { pattern: /\btold\b/i, instead: 'gets, sees, is notified, is reported' },
  { pattern: /\btells? of\b/i, instead: 'reports, records' },
  { pattern: /\bhears?(?: of)?\b/i, instead: 'learns, gets, sees' },
  { pattern: /\bwithout more ado\b/i, instead: 'by default, at once' },
  { pattern: /\b(?:comes?|came|coming) to (?:an? |the |it|them|be )/i, instead: 'ends, reaches, becomes' },
  { pattern: /\banew\b/i, instead: 'again, a new' },
  { pattern: /\bfor want of\b/i, instead: 'because there is no' },
  { pattern: /\blets? (?:it |them |\w+ )?go of\b/i, instead: 'releases, frees' },
  { pattern: /\bbut for\b/i, instead: 'except' },
  { pattern: /\bsave (?:for|that)\b/i, instead: 'except' },
  { pattern: /\bin vain\b/i, instead: 'without effect' },
  { pattern: /\blest\b/i, instead: 'so that … not' },
  { pattern: /\bwhence\b|\bthence\b|\bwhereby\b|\bthereof\b|\bhereby\b/i, instead: 'plain words' },
  { pattern: /\bat its word\b/i, instead: 'believe, trust' },
  { pattern: /\bby and by\b/i, instead: 'gradually, later' },
  { pattern: /\bfor good\b/i, instead: 'permanently, for ever' },
  { pattern: /\bas ever\b/i, instead: 'as before, as usual' },
  { pattern: /\bin accord\b/i, instead: 'consistently' },
  { pattern: /\bno more than reaches\b/i, instead: 'reaches' },
]

/** Words that begin a fragment, or a clause that has no noun. A question may begin with Who or What. */
export const bannedOpenings: readonly Banned[] = [
  { pattern: /^of\b(?! course\b)/i, instead: 'the subject of the sentence' },
  { pattern: /^those\b/i, instead: 'the noun that is meant' },
  {
    pattern: /^(?:who|whom|whose|whoever|what|whatever)\b(?![^?]*\?)/i,
    instead: 'a noun: the worker that, the value that',
  },
  { pattern: /^the same of\b/i, instead: 'the subject of the sentence' },
  { pattern: /^nor\b/i, instead: 'the subject, and not' },
]

/** The title of a test goes on from no other title: it may be the only one that somebody sees. */
export const titleOpenings: readonly Banned[] = [
  { pattern: /^(?:and|but|or)\b/i, instead: 'the subject' },
  { pattern: /^so (?:is|are|do|does|did|has|have)\b/i, instead: 'the subject, and the verb again' },
]

/**
 * Words of the inside. A guide does without them, a reference page explains them, and a word that the glossary has is no longer one of the
 * inside.
 */
export const insideWords: readonly string[] = [
  'Track AA',
  "Jain's index",
  'out of lane',
  'standing demand',
  'working set',
  'front door',
  'lease desk',
  'warden',
  'share book',
  'incarnation',
  'virtual time',
  'EXTREME',
  'kernel',
  'makespan',
]
