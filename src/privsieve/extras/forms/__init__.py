"""Write a release in the forms that registries, readers and output checkers use."""
