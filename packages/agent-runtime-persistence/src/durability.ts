/** What an acknowledgement survives: `full` also a power loss (on storage that honours fsync), `normal` a crash of the process. */
export type Durability = 'full' | 'normal'
