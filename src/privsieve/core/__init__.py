"""Words: the domain, the cost, the plan, the release.  Nothing here knows a row or a noise."""
