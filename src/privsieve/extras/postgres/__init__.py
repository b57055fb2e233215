"""Keep a ledger on a server of PostgreSQL."""
