"""Trust: who signed what.  Keys, the envelope that holds signatures, and whose are wanted."""
