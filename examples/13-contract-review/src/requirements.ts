// What the review looks for: duties that the GDPR wants in a contract with somebody who processes data for you.

/** How far a contract meets a requirement. */
export type Coverage = 'covered' | 'partly' | 'missing'

export interface Requirement {
  readonly id: string
  /** The article of Regulation (EU) 2016/679. */
  readonly article: string
  readonly asks: string
  /** How bad it is if the contract has nothing about it, 1 to 3. */
  readonly weight: 1 | 2 | 3
  /** Words that meet it, and words that only come near it. */
  readonly meets: RegExp
  readonly nears?: RegExp
  /** A sentence to add, if the house has one. */
  readonly wording?: string
}

export const requirements: readonly Requirement[] = [
  {
    id: 'instructions',
    article: '28(3)(a)',
    asks: 'work only on documented instructions',
    weight: 3,
    meets: /documented instructions/,
    nears: /authorized and official use/,
    wording: 'The Contractor processes personal data only on documented instructions of the client.',
  },
  {
    id: 'confidentiality',
    article: '28(3)(b)',
    asks: 'people who see the data are bound to keep it secret',
    weight: 2,
    meets: /committed themselves to confidentiality/,
    nears: /unauthorized disclosure/,
    wording: 'The Contractor binds everybody who sees personal data to confidentiality.',
  },
  {
    id: 'security',
    article: '32',
    asks: 'measures that keep the data safe',
    weight: 3,
    meets: /the following security controls/,
  },
  {
    id: 'processors',
    article: '28(2)',
    asks: 'no subcontractor without consent',
    weight: 2,
    meets: /prior (?:specific|general) written authorization/,
    nears: /in all subcontracts|in subcontracts/,
    wording: 'The Contractor engages no other processor without written consent of the client.',
  },
  {
    id: 'breach',
    article: '33(2)',
    asks: 'notice of a breach without undue delay',
    weight: 3,
    meets: /shall immediately bring the situation to the attention/,
    nears: /in a timely manner/,
    wording: 'The Contractor reports a breach of personal data within 24 hours after it has noticed it.',
  },
  {
    id: 'rights',
    article: '28(3)(e)',
    asks: 'help with the requests of those whose data it is',
    weight: 2,
    meets: /data subjects?/,
    wording: 'The Contractor helps the client to answer requests of data subjects.',
  },
  {
    id: 'deletion',
    article: '28(3)(g)',
    asks: 'deletion or return of the data at the end',
    weight: 3,
    meets: /deletes? or returns?/,
    nears: /Sanitize or destroy/,
    wording: 'The Contractor deletes or returns all personal data at the end of the contract.',
  },
  {
    id: 'inspections',
    article: '28(3)(h)',
    asks: 'inspections by the client',
    weight: 2,
    meets: /afford the Government access to the Contractor's facilities/,
  },
  {
    id: 'transfers',
    article: '44',
    asks: 'no data to other countries without safeguards',
    weight: 3,
    meets: /third country/,
  },
  {
    id: 'records',
    article: '30(2)',
    asks: 'a record of what is done with the data',
    weight: 1,
    meets: /record of all categories of processing/,
    nears: /documentation of completion/,
    wording: 'The Contractor keeps a record of all categories of processing.',
  },
  {
    id: 'training',
    article: '39(1)(b)',
    asks: 'people who know how to handle the data',
    weight: 1,
    meets: /privacy training/,
  },
]

/** What a lawyer says of the contract in contract.txt: the review is judged by it. */
export const lawyerSays: Readonly<Record<string, Coverage>> = {
  instructions: 'partly',
  confidentiality: 'partly',
  security: 'covered',
  processors: 'partly',
  breach: 'partly',
  rights: 'missing',
  deletion: 'partly',
  inspections: 'covered',
  transfers: 'missing',
  records: 'partly',
  training: 'covered',
}
