"""What was spent, for ever: accounts, a chain of entries, certificates, folders."""
