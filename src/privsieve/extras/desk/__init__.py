"""Desk: the road from a file to a verified release, as pages in a browser on this machine."""
