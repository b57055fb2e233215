"""The ledger: accounts of spent privacy, a chain of entries, and certificates."""
