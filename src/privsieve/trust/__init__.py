"""Trust: keys, envelopes with signatures, and the required signers."""
