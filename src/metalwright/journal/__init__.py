"""The journal: runs with their evidence, grants, deployments, leases, locks, pins and the audit log.

It is written before an act (intent) and after it (outcome), and survives a kill at any instant. A lost journal costs
history, never safety. Begin at :func:`metalwright.journal.opening.open_journal`; the per-node lock
(:mod:`metalwright.journal.locks`) and the kill points need no database and load none.
"""
