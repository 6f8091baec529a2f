/**
 * The rights that an access token can give. `read`: look at tasks and the store. `submit`: submit tasks. `operate`: cancel, retry, fork, signal, resume,
 * answer approvals and budgets, change schedules. `work`: run tasks as a remote worker. `admin`: all of that, and change clients and tokens.
 */
export const accessScopes = ['read', 'submit', 'operate', 'work', 'admin'] as const
export type AccessScope = (typeof accessScopes)[number]
