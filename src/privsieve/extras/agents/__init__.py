"""Let a program that uses tools draft and plan, without reading rows or spending budget."""
